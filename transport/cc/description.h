/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Tables of parameters, whichever algorithm's. */
#ifndef VERBLINE_CC_DESCRIPTION_H
#define VERBLINE_CC_DESCRIPTION_H

#include "transport/cc/cc.h"

struct vl_cc_table {
	const struct vl_cc_description *list;
	unsigned int count;
};

#define VL_CC_TABLE(list_) ((struct vl_cc_table){list_, sizeof(list_) / sizeof((list_)[0])})

/* NULL past the last. */
const struct vl_cc_description *vl_cc_table_at(struct vl_cc_table table, unsigned int n);
/* By name; -ENOENT: no such parameter, -ERANGE: value not allowed. */
int vl_cc_table_set(struct vl_cc_table table, void *parameters, const char *name, uint64_t value);
/* -EINVAL: a parameter is outside its range. may_be_zero: 0 is fine for all. */
int vl_cc_table_check(struct vl_cc_table table, const void *parameters, bool may_be_zero);

#endif
