/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/history.h"

#include "apps/inspect/flow.h"
#include "transport/psn.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define NONE UINT32_MAX

int inspect_history_init(struct inspect_history *history)
{
	history->next = 0;
	history->ring = malloc(INSPECT_HISTORY_LENGTH * sizeof(*history->ring));
	return history->ring ? 0 : -ENOMEM;
}

void inspect_history_free(struct inspect_history *history)
{
	free(history->ring);
	history->ring = NULL;
}

void inspect_history_add(struct inspect_history *history, struct inspect_flow *flow, uint32_t psn,
			 uint64_t packet, uint64_t time, uint32_t icrc, bool in_order)
{
	history->ring[history->next % INSPECT_HISTORY_LENGTH] = (struct inspect_past){
		.packet = packet,
		.time = time,
		.psn = psn,
		.icrc = icrc,
		.previous = flow->newest_history,
		.flow = flow->index,
		.in_order = in_order,
	};
	flow->newest_history = history->next++;
	if (history->next == NONE)
		history->next = 0;
}

/* NULL once the entry has been overwritten: by another flow's, or by a newer one of this flow. */
static const struct inspect_past *entry_at(const struct inspect_history *history,
					   const struct inspect_flow *flow, uint32_t serial)
{
	const struct inspect_past *past = &history->ring[serial % INSPECT_HISTORY_LENGTH];

	if (serial == NONE || history->next - serial > INSPECT_HISTORY_LENGTH ||
	    past->flow != flow->index)
		return NULL;
	return past;
}

const struct inspect_past *inspect_history_find(const struct inspect_history *history,
						const struct inspect_flow *flow, uint32_t psn)
{
	const struct inspect_past *past = entry_at(history, flow, flow->newest_history);

	for (int depth = 0; past && depth < INSPECT_HISTORY_DEPTH; depth++) {
		if (past->psn == psn)
			return past;
		past = entry_at(history, flow, past->previous);
	}
	return NULL;
}

const struct inspect_past *inspect_history_find_holder(const struct inspect_history *history,
						       const struct inspect_flow *flow,
						       uint32_t psn)
{
	const struct inspect_past *past = entry_at(history, flow, flow->newest_history);
	const struct inspect_past *nearest = NULL;

	for (int depth = 0; past && depth < INSPECT_HISTORY_DEPTH; depth++) {
		int32_t behind = vl_psn_distance(psn, past->psn);

		if (!behind)
			return past;
		if (behind > 0 && (!nearest || behind < vl_psn_distance(psn, nearest->psn)))
			nearest = past;
		past = entry_at(history, flow, past->previous);
	}
	return nearest;
}

const struct inspect_past *inspect_history_find_trigger(const struct inspect_history *history,
							const struct inspect_flow *flow,
							uint32_t psn)
{
	const struct inspect_past *past = entry_at(history, flow, flow->newest_history);
	const struct inspect_past *trigger = NULL;

	for (int depth = 0; past && depth < INSPECT_HISTORY_DEPTH; depth++) {
		int32_t ahead = vl_psn_distance(past->psn, psn);

		if (ahead <= 0)
			break;
		trigger = past;
		past = entry_at(history, flow, past->previous);
	}
	return trigger;
}
