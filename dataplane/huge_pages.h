/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Large pages for what a large network in virtual time consists of: its events go back and forth
 * over more memory than the processor's address cache covers with small ones. No hugetlbfs, no
 * privilege: transparent huge pages, where the kernel offers them ("madvise" or "always"); else
 * nothing happens.
 */
#ifndef VERBLINE_DATAPLANE_HUGE_PAGES_H
#define VERBLINE_DATAPLANE_HUGE_PAGES_H

#include <stddef.h>

#define VL_HUGE_PAGE ((size_t)2 << 20)

/* For memory just reserved: what lies in whole large pages gets them as it is touched. */
void vl_huge_pages_advise(void *memory, size_t size);
/* For all ordinary memory of the process that is in use now, however it was allocated: moves it to
 * large pages at once (Linux 6.1 on), or lets the kernel do so in time. Takes about as long as
 * copying it. */
void vl_huge_pages_collapse(void);

#endif
