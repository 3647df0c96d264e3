/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Notification point. It needs no timer: where the paper sends at the end of the window, the next
 * packet of the flow does it, which in a flow worth slowing down is close behind. */

#include "transport/cc/cc.h"

bool vl_notification_due(struct vl_notification_point *point,
			 const struct vl_cc_parameters *parameters, bool is_marked, uint64_t now)
{
	uint64_t window = (uint64_t)parameters->dcqcn.min_time_between_cnps * 1000;

	if (!is_marked && !point->is_marked)
		return false;
	if (now < point->next_allowed) {
		point->is_marked = true;
		return false;
	}
	if (!is_marked && now - point->next_allowed >= window) {
		point->is_marked = false;
		return false;
	}
	point->is_marked = false;
	point->next_allowed = now + window;
	return true;
}
