/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/doctor/findings.h"

#include "apps/option.h"

#include <stdarg.h>
#include <string.h>

#define TOPIC_WIDTH 13 /* of the longest */
#define TEXT_COLUMN (8 + 1 + TOPIC_WIDTH + 1)

static const char *const state_names[] = {"ok", "lack", "LACK", "unknown"};
static const char *const json_states[] = {"ok", "lack", "lack", "unknown"};

void finding_add(struct findings *findings, const char *topic, const char *subject,
		 enum finding_state state, const char *remedy, const char *format, ...)
{
	struct finding *finding = &findings->list[findings->count];
	va_list values;

	if (findings->count == MAX_FINDINGS)
		return;
	findings->count++;
	finding->topic = topic;
	finding->state = state;
	snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy ? remedy : "");
	va_start(values, format);
	vsnprintf(finding->text, sizeof(finding->text), format, values);
	va_end(values);
}

const char *finding_remedy(const char *format, ...)
{
	static char text[FINDING_TEXT];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	return text;
}

unsigned int findings_count(const struct findings *findings, enum finding_state state)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < findings->count; i++)
		count += findings->list[i].state == state;
	return count;
}

static void print_one(const struct finding *finding, FILE *out)
{
	char text[sizeof(finding->subject) + FINDING_TEXT + 2];
	int column = fprintf(out, "%-8s %-*s ", state_names[finding->state], TOPIC_WIDTH,
			     finding->topic);

	snprintf(text, sizeof(text), "%s%s%s", finding->subject, *finding->subject ? ": " : "",
		 finding->text);
	vl_print_wrapped(out, text, TEXT_COLUMN, (unsigned int)column);
	/* To be copied whole, so not wrapped. */
	if (*finding->remedy)
		fprintf(out, "%*s# %s\n", TEXT_COLUMN, "", finding->remedy);
}

void findings_print(const struct findings *findings, FILE *out)
{
	unsigned int needed = findings_count(findings, FINDING_NEEDED);

	for (unsigned int i = 0; i < findings->count; i++)
		print_one(&findings->list[i], out);
	if (needed)
		fprintf(out, "\n%u %s in the way (LACK): what is asked for does not work so.\n",
			needed, needed == 1 ? "thing stands" : "things stand");
	else
		fputs("\nNothing stands in the way.\n", out);
	fprintf(out, "%u ok, %u that would make it better (lack), %u unknown\n",
		findings_count(findings, FINDING_OK), findings_count(findings, FINDING_LACK),
		findings_count(findings, FINDING_UNKNOWN));
}

json_t *findings_json(const struct findings *findings)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:b, s:s, s:s}", "topic",
						finding->topic, "subject", finding->subject,
						"state", json_states[finding->state], "needed",
						finding->state == FINDING_NEEDED, "text",
						finding->text, "remedy", finding->remedy));
	}
	return json_pack("{s:s, s:o}", "version", VERBLINE_VERSION, "findings", list);
}
