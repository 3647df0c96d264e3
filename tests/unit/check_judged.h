/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Configurations of SONiC switches, and what verbline check finds in them. */
#ifndef VERBLINE_TESTS_CHECK_JUDGED_H
#define VERBLINE_TESTS_CHECK_JUDGED_H

#include "apps/check/check.h"
#include "tests/support/config_db.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The profile of lossless groups in config_db_100g. */
#define TH "pg_lossless_100000_40m_profile"

struct judged {
	struct vl_config_db *db;
	struct vl_check_findings findings;
};

/* Takes root over. */
static inline struct judged judge(json_t *root, const struct vl_check_options *options)
{
	char *text = json_dumps(root, JSON_INDENT(2)), error[256] = "";
	struct judged judged = {.db = vl_config_db_parse(text, strlen(text), error, sizeof(error))};

	CU_ASSERT_PTR_NOT_NULL_FATAL(judged.db);
	CU_ASSERT_EQUAL(vl_check_run(judged.db, options, &judged.findings), 0);
	free(text);
	json_decref(root);
	return judged;
}

static inline const struct vl_check_finding *find(const struct judged *judged, const char *rule)
{
	const struct vl_check_finding *finding = judged->findings.first;

	while (finding && strcmp(vl_check_describe(finding->rule)->name, rule))
		finding = finding->next;
	return finding;
}

static inline void expect_nothing(json_t *root, const struct vl_check_options *options)
{
	struct judged judged = judge(root, options);

	if (judged.findings.first)
		vl_check_print(&judged.findings, "good", stdout);
	CU_ASSERT_PTR_NULL(judged.findings.first);
	CU_ASSERT_EQUAL(judged.db->problem_count, 0);
	vl_config_db_free(judged.db);
}

#endif
