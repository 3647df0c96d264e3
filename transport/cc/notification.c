/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Notification point, as the receiver of Zhu et al. (SIGCOMM 2015): a CE packet of a QP that had
 * no CNP within the last N is answered with one at once, and nothing is remembered of those that
 * are not answered.
 */

#include "transport/cc/cc.h"

bool vl_notification_due(struct vl_notification_point *point,
			 const struct vl_cc_parameters *parameters, uint64_t now)
{
	if (now < point->next_allowed)
		return false;
	point->next_allowed = now + (uint64_t)parameters->dcqcn.min_time_between_cnps * 1000;
	return true;
}
