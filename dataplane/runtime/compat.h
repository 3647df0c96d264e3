/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The one place that knows DPDK's versions: 22.11 up to 24.11. */
#ifndef VERBLINE_RUNTIME_COMPAT_H
#define VERBLINE_RUNTIME_COMPAT_H

#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0)
#error "verbline needs DPDK 22.11 or later"
#endif

/* RTE_FLOW_ITEM_TYPE_IB_BTH. */
#define VL_COMPAT_HAS_FLOW_ITEM_BTH (RTE_VERSION >= RTE_VERSION_NUM(23, 7, 0, 0))

/* Unsigned numbers in telemetry. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define VL_COMPAT_TELEMETRY_NUMBERS    RTE_TEL_UINT_VAL
#define vl_compat_telemetry_put_number rte_tel_data_add_dict_uint
#define vl_compat_telemetry_add_number rte_tel_data_add_array_uint
#else
#define VL_COMPAT_TELEMETRY_NUMBERS    RTE_TEL_U64_VAL
#define vl_compat_telemetry_put_number rte_tel_data_add_dict_u64
#define vl_compat_telemetry_add_number rte_tel_data_add_array_u64
#endif

#endif
