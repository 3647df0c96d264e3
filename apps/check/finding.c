/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What was found: collected by rule, printed for people and for programs. */

#include "apps/check/private.h"

#include <stdarg.h>
#include <string.h>

#define MAX_FINDINGS 1000u
#define SHOWN_PORTS  4u
#define LONG_PATH    80u

const char *check_text(struct check *check, const char *format, ...)
{
	char buffer[2048];
	va_list arguments;
	char *text;

	va_start(arguments, format);
	vsnprintf(buffer, sizeof(buffer), format, arguments);
	va_end(arguments);
	text = vl_arena_print(&check->db->document.arena, "%s", buffer);
	if (!text)
		check->out_of_memory = true;
	return text ? text : "";
}

const char *check_set(struct check *check, uint64_t set)
{
	char buffer[256] = "";
	size_t used = 0;

	for (unsigned int n = 0, last; n < 64; n = last + 1) {
		for (last = n; last < 63 && set >> n & 1 && set >> (last + 1) & 1; last++)
			;
		if (!(set >> n & 1))
			continue;
		/* Two neighbours are no range. */
		if (last == n + 1)
			last = n;
		used += (size_t)snprintf(buffer + used, sizeof(buffer) - used, "%s%u",
					 used ? ", " : "", n);
		if (last > n)
			used += (size_t)snprintf(buffer + used, sizeof(buffer) - used, "-%u", last);
	}
	return check_text(check, "%s", buffer);
}

const char *check_list(struct check *check, uint64_t set)
{
	char buffer[256] = "";
	size_t used = 0;

	for (unsigned int n = 0; n < 64; n++) {
		if (set >> n & 1)
			used += (size_t)snprintf(buffer + used, sizeof(buffer) - used, "%s%u",
						 used ? "," : "", n);
	}
	return check_text(check, "%s", buffer);
}

const char *check_have(struct check *check, const char *noun, uint64_t set)
{
	bool is_one = !(set & (set - 1));

	return check_text(check, "%s%s %s %s", noun, is_one ? "" : "s", check_set(check, set),
			  is_one ? "has" : "have");
}

struct vl_db_place check_place(struct check *check, const char *table,
			       const struct vl_db_entry *entry, const char *field)
{
	return vl_db_place(check->db, table, entry, field);
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_table(const char *path, const char *other)
{
	size_t length = strcspn(path, "|");

	return !strncmp(path, other, length) && length == strcspn(other, "|");
}

static void add_port(struct check *check, struct vl_check_finding *finding, const char *name)
{
	const char **larger;

	if (finding->port_count && !strcmp(finding->ports[finding->port_count - 1], name))
		return;
	if (finding->port_count == finding->port_capacity) {
		unsigned int capacity = finding->port_capacity ? finding->port_capacity * 2 : 4;

		larger = vl_arena_allocate(&check->db->document.arena, capacity * sizeof(*larger));
		if (!larger) {
			check->out_of_memory = true;
			return;
		}
		if (finding->port_count)
			memcpy(larger, finding->ports, finding->port_count * sizeof(*larger));
		finding->ports = larger;
		finding->port_capacity = capacity;
	}
	finding->ports[finding->port_count++] = name;
}

void check_add_named(struct check *check, enum vl_check_rule rule, const char *port,
		     struct vl_db_place place, const char *found, const char *arithmetic,
		     const char *right)
{
	struct vl_check_findings *findings = check->findings;
	struct vl_check_finding **at = &findings->first, *finding;

	while (*at && (*at)->rule < rule)
		at = &(*at)->next;
	for (; (finding = *at) && finding->rule == rule; at = &finding->next) {
		/* What is wrong alike at many ports is said once. */
		if ((port ? is_same_table(finding->place.path, place.path)
			  : is_same(finding->place.path, place.path)) &&
		    is_same(finding->found, found) && is_same(finding->arithmetic, arithmetic) &&
		    is_same(finding->right, right)) {
			if (port)
				add_port(check, finding, port);
			return;
		}
	}
	if (findings->counts[0] + findings->counts[1] + findings->counts[2] >= MAX_FINDINGS)
		return;
	finding = vl_arena_allocate(&check->db->document.arena, sizeof(*finding));
	if (!finding) {
		check->out_of_memory = true;
		return;
	}
	*finding = (struct vl_check_finding){.rule = rule,
					     .place = place,
					     .found = found,
					     .arithmetic = arithmetic,
					     .right = right,
					     .next = *at};
	if (port)
		add_port(check, finding, port);
	*at = finding;
	findings->counts[vl_check_describe(rule)->severity]++;
}

void check_add(struct check *check, enum vl_check_rule rule, const struct vl_db_port *port,
	       struct vl_db_place place, const char *found, const char *arithmetic,
	       const char *right)
{
	check_add_named(check, rule, port ? port->name : NULL, place, found, arithmetic, right);
}

/* ---- For people ---------------------------------------------------------------------------- */

static void print_label(FILE *out, const char *label, const char *text)
{
	int column = fprintf(out, "  %-8s ", label);

	vl_print_wrapped(out, text, 11, (unsigned int)column);
}

static void print_ports(const struct vl_check_finding *finding, FILE *out)
{
	char text[512];
	size_t used = 0;
	unsigned int shown =
		finding->port_count <= SHOWN_PORTS ? finding->port_count : SHOWN_PORTS - 1;

	for (unsigned int i = 0; i < shown && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.60s", i ? ", " : "",
					 finding->ports[i]);
	if (shown < finding->port_count && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, " and %u more",
			 finding->port_count - shown);
	if (shown)
		print_label(out, "ports", text);
}

/* An entry may be of a list of all ports: only its ends are shown. */
static void print_place(const char *path, FILE *out)
{
	const char *first = strchr(path, ','), *last = strrchr(path, ',');

	if (first == last || strlen(path) <= LONG_PATH)
		print_label(out, "at", path);
	else
		fprintf(out, "  %-8s %.*s,...%s\n", "at", (int)(first - path), path, last);
}

static void print_finding(const struct vl_check_finding *finding, const char *file, FILE *out)
{
	const struct vl_check_description *description = vl_check_describe(finding->rule);
	const char *line = finding->arithmetic, *end;

	fputs(file, out);
	if (finding->place.line)
		fprintf(out, ":%u", finding->place.line);
	fprintf(out, ": %s [%s]: %s\n", vl_check_severity_name(description->severity),
		description->name, description->summary);
	print_place(finding->place.path, out);
	print_ports(finding, out);
	print_label(out, "found", finding->found);
	/* Sums stand in columns: they are not wrapped. */
	for (; line && *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		fprintf(out, "  %-8s %.*s\n", line == finding->arithmetic ? "because" : "",
			(int)(end - line), line);
	}
	print_label(out, "right", finding->right);
	fputc('\n', out);
}

void vl_check_print(const struct vl_check_findings *findings, const char *file, FILE *out)
{
	for (const struct vl_check_finding *finding = findings->first; finding;
	     finding = finding->next)
		print_finding(finding, file, out);
	fprintf(out, "%s: %u error%s, %u warning%s, %u note%s\n", file,
		findings->counts[VL_CHECK_ERROR], findings->counts[VL_CHECK_ERROR] == 1 ? "" : "s",
		findings->counts[VL_CHECK_WARNING],
		findings->counts[VL_CHECK_WARNING] == 1 ? "" : "s", findings->counts[VL_CHECK_NOTE],
		findings->counts[VL_CHECK_NOTE] == 1 ? "" : "s");
}

/* ---- For programs -------------------------------------------------------------------------- */

static json_t *finding_json(const struct vl_check_finding *finding)
{
	const struct vl_check_description *description = vl_check_describe(finding->rule);
	json_t *ports = json_array(), *object;

	for (unsigned int i = 0; i < finding->port_count; i++)
		json_array_append_new(ports, json_string(finding->ports[i]));
	object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "rule", description->name,
			   "severity", vl_check_severity_name(description->severity), "summary",
			   description->summary, "path", finding->place.path, "found",
			   finding->found, "right", finding->right, "ports", ports);
	if (object && finding->place.line)
		json_object_set_new(object, "line", json_integer(finding->place.line));
	if (object && finding->arithmetic)
		json_object_set_new(object, "arithmetic", json_string(finding->arithmetic));
	return object;
}

json_t *vl_check_json(const struct vl_config_db *db, const struct vl_check_findings *findings,
		      const char *file)
{
	json_t *array = json_array();

	for (const struct vl_check_finding *finding = findings->first; finding;
	     finding = finding->next)
		json_array_append_new(array, finding_json(finding));
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:o}", "file", file, "ports",
			 (int)db->port_count, "errors", (int)findings->counts[VL_CHECK_ERROR],
			 "warnings", (int)findings->counts[VL_CHECK_WARNING], "notes",
			 (int)findings->counts[VL_CHECK_NOTE], "findings", array);
}
