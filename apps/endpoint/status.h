/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Names of completion statuses, as ibv_wc_status_str of libibverbs has them. */
#ifndef VERBLINE_APPS_ENDPOINT_STATUS_H
#define VERBLINE_APPS_ENDPOINT_STATUS_H

#include <infiniband/verbs.h>

const char *vl_wc_status_name(enum ibv_wc_status status);

#endif
