/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/switch_profile.h"

static void join_priorities(struct vl_switch_profile *profile)
{
	const struct vl_switch_pfc_config *pfc = &profile->pfc;

	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		uint8_t bit = (uint8_t)(1u << i);
		uint8_t queue = pfc->priority_to_queue[i], group = pfc->priority_to_group[i];

		if (!(pfc->enabled & bit))
			continue;
		profile->group_priorities[group] |= bit;
		profile->queue_priorities[queue] |= bit;
		if (!profile->has_watchdog || !(profile->watchdog.config.priorities & bit))
			continue;
		profile->watched |= (uint8_t)(1u << queue);
		profile->queue_groups[queue] |= (uint8_t)(1u << group);
	}
}

void vl_switch_profile_init(struct vl_switch_profile *profile,
			    const struct vl_switch_port_config *config)
{
	*profile = (struct vl_switch_profile){
		.pfc = config->pfc,
		.has_watchdog = config->watchdog.action != VL_WATCHDOG_OFF,
		.source = config,
	};
	vl_watchdog_rule_init(&profile->watchdog, &config->watchdog);
	vl_classifier_init(&profile->classifier, &config->classifier);
	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		vl_buffer_group_rule(&profile->groups[i], &config->groups[i]);
		vl_buffer_queue_rule(&profile->queues[i], &config->queues[i].buffer);
		vl_red_init(&profile->red[i], &config->queues[i].red);
		if (config->queues[i].red.point == VL_RED_AT_ENQUEUE)
			profile->red_at_enqueue |= (uint8_t)(1u << i);
		if (config->queues[i].red.point == VL_RED_AT_DEQUEUE)
			profile->red_at_dequeue |= (uint8_t)(1u << i);
	}
	vl_scheduler_init(&profile->scheduler, &config->queues[0].scheduler,
			  sizeof(config->queues[0]), &config->shaper);
	profile->is_shaped = profile->scheduler.shaped || profile->scheduler.is_port_shaped;
	join_priorities(profile);
}
