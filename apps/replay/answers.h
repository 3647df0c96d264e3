/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#ifndef VERBLINE_REPLAY_ANSWERS_H
#define VERBLINE_REPLAY_ANSWERS_H

#include "apps/replay/fate.h"
#include "apps/replay/trial.h"

/* Holds the stack's answers against the recorded ones, both in the order of their sending. */
void hold_answers(struct trial *trial, const struct stack_packets *answers,
		  const struct request_outcomes *outcomes, const struct last_seen *last);

#endif
