/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/watchdog.h"

#include <stddef.h>

const char *vl_watchdog_config_error(const struct vl_watchdog_config *config)
{
	if (config->action == VL_WATCHDOG_OFF)
		return NULL;
	if (config->action > VL_WATCHDOG_FORWARD)
		return "the watchdog's action is neither drop nor forward";
	if (!config->detection_time)
		return "the watchdog's detection time is 0";
	if (!config->restoration_time)
		return "the watchdog's restoration time is 0";
	if (!config->poll_interval)
		return "the watchdog's poll interval is 0";
	return NULL;
}

void vl_watchdog_rule_init(struct vl_watchdog_rule *rule, const struct vl_watchdog_config *config)
{
	rule->config = *config;
	rule->reciprocal = config->poll_interval ? UINT64_MAX / config->poll_interval : 0;
}

void vl_watchdog_see_pause(struct vl_watchdog *watchdog, uint8_t queues, uint64_t now)
{
	for (; queues; queues &= (uint8_t)(queues - 1))
		watchdog->last_pause[__builtin_ctz(queues)] = now;
}

/* The first whole multiple of the interval after now. */
static uint64_t poll_after(const struct vl_watchdog_rule *rule, uint64_t now)
{
	uint64_t interval = rule->config.poll_interval;
	/* The reciprocal is rounded down, so the quotient is right or one too small. */
	uint64_t quotient = (uint64_t)(((unsigned __int128)now * rule->reciprocal) >> 64);
	uint64_t last = quotient * interval;

	return now - last >= interval ? last + 2 * interval : last + interval;
}

void vl_watchdog_set_paused(struct vl_watchdog *watchdog, const struct vl_watchdog_rule *rule,
			    uint8_t paused, uint64_t now)
{
	uint8_t begun = paused & (uint8_t)~watchdog->paused;

	/* While there is something to watch, polls go on by themselves. */
	if (begun && !(watchdog->paused | watchdog->storm))
		watchdog->next_poll = poll_after(rule, now);
	for (; begun; begun &= (uint8_t)(begun - 1))
		watchdog->paused_since[__builtin_ctz(begun)] = now;
	watchdog->paused = paused;
}

struct vl_watchdog_change vl_watchdog_poll(struct vl_watchdog *watchdog,
					   const struct vl_watchdog_rule *rule, uint64_t now)
{
	struct vl_watchdog_change change = {0};

	if (vl_watchdog_next_poll(watchdog) > now)
		return change;
	for (unsigned int q = 0; q < VL_WATCHDOG_QUEUES; q++) {
		uint8_t bit = (uint8_t)(1u << q);

		if (watchdog->storm & bit) {
			if (now - watchdog->last_pause[q] < rule->config.restoration_time)
				continue;
			change.restored |= bit;
			watchdog->restored[q]++;
		} else if (watchdog->paused & bit &&
			   now - watchdog->paused_since[q] >= rule->config.detection_time) {
			change.detected |= bit;
			watchdog->detected[q]++;
		}
	}
	watchdog->storm = (watchdog->storm | change.detected) & (uint8_t)~change.restored;
	watchdog->paused &= (uint8_t)~change.detected;
	watchdog->next_poll = poll_after(rule, now);
	return change;
}
