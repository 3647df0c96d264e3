/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/verb.h"

#include <stddef.h>

const char *vl_flow_verb_error(enum ibv_qp_type transport, enum vl_flow_verb verb)
{
	switch (transport) {
	case IBV_QPT_RC:
		return NULL;
	case IBV_QPT_UC:
		return verb >= VL_FLOW_READ ? "UC has no READ and no atomics" : NULL;
	case IBV_QPT_UD:
		return verb > VL_FLOW_SEND_IMM ? "UD has SEND only" : NULL;
	default:
		return "the transport must be RC, UC or UD";
	}
}
