/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/cm/reason.h"

#include <stddef.h>

#define MEANING(value, name, meaning) [value] = meaning,

static const char *const reject_reasons[] = {VL_CM_REJECT_REASONS(MEANING)};
static const char *const sidr_statuses[] = {VL_CM_SIDR_STATUSES(MEANING)};
static const char *const apr_statuses[] = {VL_CM_APR_STATUSES(MEANING)};

static const char *find(const char *const *meanings, size_t count, unsigned int value)
{
	return value < count && meanings[value] ? meanings[value] : "reserved";
}

#define FIND(meanings, value) find(meanings, sizeof(meanings) / sizeof((meanings)[0]), value)

const char *vl_cm_reject_reason_meaning(uint16_t reason)
{
	return FIND(reject_reasons, reason);
}

const char *vl_cm_sidr_status_meaning(uint8_t status)
{
	return FIND(sidr_statuses, status);
}

const char *vl_cm_apr_status_meaning(uint8_t status)
{
	return FIND(apr_statuses, status);
}
