/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/port/rule.h"

#include "apps/quantity.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct field_description {
	const char *name;
	enum rewrite_kind kind;
	unsigned int bits;
};

static const struct field_description fields[REWRITE_FIELD_COUNT] = {
#define DESCRIBE(name, text, kind, bits, meaning) {text, REWRITE_KIND_##kind, bits},
	REWRITE_FIELDS(DESCRIBE)
#undef DESCRIBE
};

static int fail(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int fail(char *error, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, size, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

const char *rewrite_field_name(enum rewrite_field field)
{
	return fields[field].name;
}

static uint64_t largest(enum rewrite_field field)
{
	return fields[field].bits == 64 ? UINT64_MAX : (UINT64_C(1) << fields[field].bits) - 1;
}

static int find_field(const char *text, size_t length, enum rewrite_field *field, char *error,
		      size_t size)
{
	const char *names[REWRITE_FIELD_COUNT + 1], *nearest;
	char word[48];

	for (unsigned int i = 0; i < REWRITE_FIELD_COUNT; i++) {
		names[i] = fields[i].name;
		if (strlen(names[i]) == length && !memcmp(names[i], text, length)) {
			*field = (enum rewrite_field)i;
			return 0;
		}
	}
	names[REWRITE_FIELD_COUNT] = NULL;
	snprintf(word, sizeof(word), "%.*s", (int)length, text);
	nearest = vl_nearest(word, names);
	return nearest ? fail(error, size, "'%s' is no field; did you mean %s?", word, nearest)
		       : fail(error, size,
			      "'%s' is no field; there are mac, ip, vlan, pcp, dscp, ecn, qpn, "
			      "psn, "
			      "rkey and others: 'verbline replay --rewrite help' lists all",
			      word);
}

static int parse_mac(const char *text, struct rewrite_value *value)
{
	uint8_t *mac = value->bytes;
	int used = 0;

	value->length = 6;
	return sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1], &mac[2],
		      &mac[3], &mac[4], &mac[5], &used) == 6 &&
			       used == 17 && !text[used]
		       ? 0
		       : -EINVAL;
}

static int parse_ip(const char *text, struct rewrite_value *value)
{
	value->length = strchr(text, ':') ? 16 : 4;
	return inet_pton(value->length == 16 ? AF_INET6 : AF_INET, text, value->bytes) == 1
		       ? 0
		       : -EINVAL;
}

static int parse_number(enum rewrite_field field, const char *text, struct rewrite_value *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value->length = 0;
	/* Not octal, where there are leading zeros. */
	value->number = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
	return *end || errno || value->number > largest(field) ? -EINVAL : 0;
}

static int parse_value(enum rewrite_field field, const char *text, struct rewrite_value *value,
		       char *error, size_t size)
{
	const char *name = fields[field].name;

	switch (fields[field].kind) {
	case REWRITE_KIND_MAC:
		return parse_mac(text, value) ? fail(error, size,
						     "%s: '%.60s' is no MAC address; write it as "
						     "02:00:00:00:00:01",
						     name, text)
					      : 0;
	case REWRITE_KIND_IP:
		return parse_ip(text, value)
			       ? fail(error, size,
				      "%s: '%.60s' is no address; write it as 10.0.0.1 or fd00::1",
				      name, text)
			       : 0;
	case REWRITE_KIND_NUMBER:
		break;
	}
	return parse_number(field, text, value)
		       ? fail(error, size,
			      "%s: '%.60s' is no number from 0 to %" PRIu64 " (0x%" PRIx64 ")",
			      name, text, largest(field), largest(field))
		       : 0;
}

static int parse_new(struct rewrite_rule *rule, const char *text, char *error, size_t size)
{
	bool is_number = fields[rule->field].kind == REWRITE_KIND_NUMBER;
	int result;

	rule->action = REWRITE_SET;
	if (rule->field == REWRITE_vlan && !strcmp(text, "none")) {
		rule->action = REWRITE_REMOVE;
		return 0;
	}
	if (!is_number || (*text != '+' && *text != '-'))
		return parse_value(rule->field, text, &rule->value, error, size);
	rule->action = REWRITE_ADD;
	result = parse_value(rule->field, text + 1, &rule->value, error, size);
	if (*text == '-')
		rule->value.number = -rule->value.number;
	return result;
}

int rewrite_rule_add(struct rewrite_rules *rules, const char *text, char *error, size_t error_size)
{
	const char *equals = strchr(text, '='), *comma;
	struct rewrite_rule rule = {0};
	char old[64];
	int result;

	if (rules->count == REWRITE_MAX_RULES)
		return fail(error, error_size, "more than %u rules are given", REWRITE_MAX_RULES);
	if (!equals)
		return fail(error, error_size,
			    "'%.60s' lacks a value: write FIELD=NEW or FIELD=OLD,NEW, as "
			    "dst-ip=10.0.0.1,10.0.0.2",
			    text);
	result = find_field(text, (size_t)(equals - text), &rule.field, error, error_size);
	if (result)
		return result;
	comma = strchr(equals, ',');
	if (comma) {
		snprintf(old, sizeof(old), "%.*s", (int)(comma - equals - 1), equals + 1);
		rule.has_old = true;
		result = parse_value(rule.field, old, &rule.old, error, error_size);
	}
	if (!result)
		result = parse_new(&rule, (comma ? comma : equals) + 1, error, error_size);
	if (!result && rule.has_old && rule.action == REWRITE_SET &&
	    rule.old.length != rule.value.length)
		result = fail(error, error_size,
			      "%s: one address is IPv4, the other IPv6; a packet keeps its version",
			      fields[rule.field].name);
	if (result)
		return result;
	rules->list[rules->count++] = rule;
	rules->has[rule.field] = true;
	return 0;
}

bool rewrite_number(struct rewrite_rules *rules, enum rewrite_field field, uint64_t *number)
{
	if (!rules->has[field])
		return false;
	for (unsigned int i = 0; i < rules->count; i++) {
		struct rewrite_rule *rule = &rules->list[i];

		if (rule->field != field || rule->action == REWRITE_REMOVE ||
		    (rule->has_old && rule->old.number != *number))
			continue;
		*number = (rule->action == REWRITE_ADD ? *number : 0) + rule->value.number;
		*number &= largest(field);
		rule->used++;
		return true;
	}
	return false;
}

bool rewrite_bytes(struct rewrite_rules *rules, enum rewrite_field field, enum rewrite_field either,
		   uint8_t *bytes, uint8_t length)
{
	if (!rules->has[field] && !rules->has[either])
		return false;
	for (unsigned int i = 0; i < rules->count; i++) {
		struct rewrite_rule *rule = &rules->list[i];

		if ((rule->field != field && rule->field != either) ||
		    rule->value.length != length ||
		    (rule->has_old && memcmp(rule->old.bytes, bytes, length)))
			continue;
		memcpy(bytes, rule->value.bytes, length);
		rule->used++;
		return true;
	}
	return false;
}
