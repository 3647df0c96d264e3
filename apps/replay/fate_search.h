/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Finds the likeliest course of events: which requests arrived at the recorded responder, in which
 * order, so that a responder gives the recorded answers. Requests arrive in the order of their
 * sending, but for single ones that are overtaken. A course costs for every loss, for every answer
 * that is missing and for every recorded answer that nothing explains; the cheapest is taken.
 */
#ifndef VERBLINE_REPLAY_FATE_SEARCH_H
#define VERBLINE_REPLAY_FATE_SEARCH_H

#include "apps/replay/fate.h"

/* Fills in result->items and result->begins_answer_to, which are allocated; result->start is known.
 * False: out of memory. */
bool search_fates(const struct conversation *conversation, uint64_t last_from_responder,
		  struct request_outcomes *result);

#endif
