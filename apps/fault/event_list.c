/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/fault/event_list.h"

#include "apps/host/addresses.h"
#include "apps/scenario/document.h"
#include "transport/credit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYNDROME_NAK 0x60
#define SYNDROME_RNR 0x20

uint8_t vl_rnr_timer_code(uint64_t time)
{
	for (uint8_t code = 1; code < 32; code++) {
		if (vl_rnr_timer_ns(code) >= time)
			return code;
	}
	return 0;
}

/* ---- Values that are text ------------------------------------------------------------------- */

static bool parse_number(const char *text, char **end, uint64_t *value)
{
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, end, base);
	return !errno;
}

/* "5" or "5..9" */
static void take_range(struct vl_loader *loader, const struct vl_event_entry *entry,
		       const char *field, const char *text, uint64_t least, uint64_t most,
		       struct vl_fault_range *range)
{
	uint64_t first, last;
	char *end;
	bool right;

	if (!text)
		return;
	right = parse_number(text, &end, &first);
	last = first;
	if (right && end[0] == '.' && end[1] == '.')
		right = parse_number(end + 2, &end, &last);
	if (!right || *end || first > last || first < least || last > most) {
		vl_section_problem(loader, &entry->section, field,
				   "'%.40s' is no range; write a number or first..last, from %llu "
				   "to %llu",
				   text, (unsigned long long)least, (unsigned long long)most);
		return;
	}
	range->first = first;
	range->last = last;
}

static void take_qp(struct vl_loader *loader, const struct vl_event_entry *entry, uint32_t *qpn)
{
	uint64_t value;
	char *end;

	if (!entry->qp)
		return;
	if (!parse_number(entry->qp, &end, &value) || *end || !value || value > 0xffffff)
		vl_section_problem(loader, &entry->section, "qp",
				   "'%.40s' is no QPN; write a number from 1 to 0xffffff",
				   entry->qp);
	else
		*qpn = (uint32_t)value;
}

static void take_peer(struct vl_loader *loader, const struct vl_event_entry *entry,
		      struct vl_fault_match *match)
{
	char error[160];

	if (!entry->peer)
		return;
	match->has_peer = true;
	if (vl_address_parse(entry->peer, &match->peer, error, sizeof(error)))
		vl_section_problem(loader, &entry->section, "peer", "%s", error);
}

#define MAX_WORD 48
#define BETWEEN  ", \t"

/* The next word of a list, and what is behind it; NULL: no more. Too long ones are cut, and so are
 * wrong. */
static const char *next_word(const char *text, char word[MAX_WORD])
{
	size_t length;

	text += strspn(text, BETWEEN);
	if (!*text)
		return NULL;
	length = strcspn(text, BETWEEN);
	snprintf(word, MAX_WORD, "%.*s", (int)length, text);
	return text + length;
}

static const char *nearest_class(const char *word)
{
	const char *names[32], *meaning;
	unsigned int n = 0;

	while (n < 31 && (names[n] = vl_fault_class_name(n, &meaning)))
		n++;
	names[n] = NULL;
	return vl_nearest(word, names);
}

static void take_opcodes(struct vl_loader *loader, const struct vl_event_entry *entry,
			 struct vl_fault_match *match)
{
	const char *rest = entry->opcode;
	char word[MAX_WORD];
	unsigned int count = 0;

	if (!rest)
		return;
	while ((rest = next_word(rest, word))) {
		const char *nearest;

		count++;
		if (!vl_fault_match_opcode(match, word))
			continue;
		nearest = nearest_class(word);
		vl_section_problem(
			loader, &entry->section, "opcode", "'%s' is no opcode and no class; %s%s%s",
			word, nearest ? "did you mean " : "'verbline faults --opcodes' lists them",
			nearest ? nearest : "", nearest ? "?" : "");
		return;
	}
	if (!count)
		vl_section_problem(loader, &entry->section, "opcode",
				   "names nothing; leave the key out to mean all");
}

static void take_priorities(struct vl_loader *loader, const struct vl_event_entry *entry,
			    uint8_t *mask)
{
	const char *rest = entry->priorities;
	char word[MAX_WORD];

	while (rest && (rest = next_word(rest, word))) {
		if (word[0] < '0' || word[0] > '7' || word[1]) {
			vl_section_problem(loader, &entry->section, "priorities",
					   "'%s' is no priority; write one or several of 0 to 7",
					   word);
			return;
		}
		*mask |= (uint8_t)(1u << (word[0] - '0'));
	}
}

static void take_credits(struct vl_loader *loader, const struct vl_event_entry *entry,
			 uint8_t *code)
{
	uint64_t value;
	char *end;

	if (!entry->credits)
		return;
	if (!strcmp(entry->credits, "unlimited"))
		*code = VL_CREDIT_UNLIMITED;
	else if (parse_number(entry->credits, &end, &value) && !*end && value <= 32768)
		*code = vl_credit_encode((uint32_t)value);
	else
		vl_section_problem(loader, &entry->section, "credits",
				   "'%.40s' are no credits; write 0 to 32768, or unlimited",
				   entry->credits);
}

/* ---- What belongs to what ------------------------------------------------------------------- */

#define BIT(kind) (UINT64_C(1) << VL_FAULT_##kind)

/* Keys of actions, and which have them: to be given, or not. */
static const struct {
	const char *field;
	uint64_t takes, needs; /* by enum vl_fault_action_kind */
} parameters[] = {
	{"copies", BIT(DUPLICATE), 0},
	{"by", BIT(REORDER), BIT(REORDER)},
	{"delay", BIT(DUPLICATE) | BIT(REORDER) | BIT(DELAY) | BIT(DELAY_ACKS),
	 BIT(DELAY) | BIT(DELAY_ACKS)},
	{"for", BIT(SUPPRESS_ACKS) | BIT(DELAY_ACKS) | BIT(STOP_ANSWERING) | BIT(PAUSE), 0},
	{"part", BIT(CORRUPT), 0},
	{"bit", BIT(CORRUPT), 0},
	{"bytes", BIT(TRUNCATE), BIT(TRUNCATE)},
	{"repair", BIT(TRUNCATE), 0},
	{"code", BIT(NAK), BIT(NAK)},
	{"timer", BIT(RNR), 0},
	{"credits", BIT(CREDITS), BIT(CREDITS)},
	{"priorities", BIT(PAUSE), BIT(PAUSE)},
	{"quanta", BIT(PAUSE), 0},
	{"scope", BIT(STOP_ANSWERING), 0},
};

static bool has(const struct vl_event_entry *entry, const char *field)
{
	return vl_section_has(&vl_event_schema, &entry->section, field);
}

static void check_parameters(struct vl_loader *loader, const struct vl_event_entry *entry)
{
	const char *action = vl_fault_action_name((enum vl_fault_action_kind)entry->action);
	uint64_t bit = UINT64_C(1) << entry->action;

	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
		const char *field = parameters[i].field;

		if (has(entry, field) && !(parameters[i].takes & bit))
			vl_section_problem(loader, &entry->section, field,
					   "means nothing to action %s; leave it out", action);
		else if (!has(entry, field) && parameters[i].needs & bit)
			vl_section_problem(loader, &entry->section, NULL, "action %s needs '%s'",
					   action, field);
	}
}

static void take_match(struct vl_loader *loader, const struct vl_event_entry *entry,
		       struct vl_fault_match *match)
{
	vl_fault_match_init(match);
	if (entry->on == VL_EVENT_RECEIVED)
		match->directions = VL_FAULT_RECEIVED;
	else if (entry->on == VL_EVENT_TRANSMITTED)
		match->directions = VL_FAULT_TRANSMITTED;
	match->connection = (uint32_t)entry->connection;
	take_qp(loader, entry, &match->qpn);
	take_peer(loader, entry, match);
	take_range(loader, entry, "psn", entry->psn, 0, 0xffffff, &match->psn);
	take_range(loader, entry, "message", entry->message, 1, UINT64_MAX, &match->message);
	take_range(loader, entry, "nth", entry->nth, 1, UINT64_MAX, &match->nth);
	take_opcodes(loader, entry, match);
	match->every = entry->every;
	match->probability = entry->probability;
	match->limit = entry->count;
	match->per_connection = entry->per == VL_EVENT_OF_CONNECTION;
	match->from = entry->from;
	match->until = entry->until;
	if (match->until && match->until <= match->from)
		vl_section_problem(loader, &entry->section, "until",
				   "is not after 'from'; nothing would ever happen");
}

static void take_action(struct vl_loader *loader, const struct vl_event_entry *entry,
			struct vl_fault_action *action)
{
	*action = (struct vl_fault_action){
		.kind = (enum vl_fault_action_kind)entry->action,
		.copies = (uint32_t)entry->copies,
		.by = (uint32_t)entry->by,
		.delay = entry->delay,
		.duration = has(entry, "for") ? entry->duration : VL_FAULT_FOREVER,
		.part = (enum vl_fault_part)entry->part,
		.bit = has(entry, "bit") ? (uint32_t)entry->bit : VL_FAULT_ANY_BIT,
		.bytes = (uint32_t)entry->bytes,
		.repair = entry->repair,
		.quanta = (uint16_t)entry->quanta,
		.whole_endpoint = entry->scope == VL_EVENT_OF_ENDPOINT,
	};
	switch (action->kind) {
	case VL_FAULT_NAK:
		action->syndrome = (uint8_t)(SYNDROME_NAK | entry->code);
		break;
	case VL_FAULT_RNR:
		action->syndrome = (uint8_t)(SYNDROME_RNR | vl_rnr_timer_code(entry->timer));
		break;
	case VL_FAULT_CREDITS:
		take_credits(loader, entry, &action->syndrome);
		break;
	case VL_FAULT_PAUSE:
		take_priorities(loader, entry, &action->priorities);
		if (!has(entry, "for"))
			action->duration = 0;
		break;
	case VL_FAULT_TRUNCATE:
		if (action->repair && action->bytes & 3)
			vl_section_problem(loader, &entry->section, "bytes",
					   "must be a multiple of 4 with 'repair'");
		break;
	default:
		break;
	}
}

static void convert(struct vl_loader *loader, struct vl_event_list *list, const char *file)
{
	const struct vl_event_entry *entries = list->entries.elements;

	list->event_count = list->entries.count;
	list->events =
		vl_arena_allocate(loader->arena, (list->event_count + 1) * sizeof(*list->events));
	if (!list->events) {
		loader->out_of_memory = true;
		return;
	}
	for (uint32_t i = 0; i < list->event_count; i++) {
		struct vl_place place = vl_section_place(loader, &entries[i].section, NULL);
		struct vl_fault_event *event = &list->events[i];

		event->name = entries[i].name;
		if (!event->name)
			event->name = vl_arena_print(loader->arena, "event%u", i + 1);
		event->place = vl_arena_print(loader->arena, "%s:%zu", file ? file : "events",
					      place.line + 1);
		if (!event->name || !event->place) {
			loader->out_of_memory = true;
			return;
		}
		take_match(loader, &entries[i], &event->match);
		/* Said already that it is missing or unknown. */
		if (entries[i].action >= VL_FAULT_ACTION_COUNT)
			continue;
		check_parameters(loader, &entries[i]);
		take_action(loader, &entries[i], &event->action);
	}
}

/* All that is wrong has been said in the file's words; this is for what escaped them. */
static void check(struct vl_loader *loader, const struct vl_event_list *list)
{
	const struct vl_fault_config config = {.events = list->events,
					       .event_count = list->event_count};
	const struct vl_event_entry *entries = list->entries.elements;
	uint32_t event;
	const char *error;

	if (loader->problems->count || loader->out_of_memory)
		return;
	error = vl_fault_config_error(&config, &event);
	if (error)
		vl_section_problem(loader,
				   event < list->event_count ? &entries[event].section
							     : &list->section,
				   NULL, "%s", error);
}

struct vl_event_list *vl_event_list_parse(const char *text, size_t length,
					  struct vl_problems *problems)
{
	struct vl_arena arena = {0};
	struct vl_event_list *list = malloc(sizeof(*list));
	yaml_document_t document;
	struct vl_loader loader = {&document, problems, &arena, false};

	if (!list) {
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL, "out of memory");
		return NULL;
	}
	if (!vl_document_load(text, length, "an event list",
			      "'verbline faults drop-every-100th' prints one", &document,
			      problems)) {
		free(list);
		return NULL;
	}
	vl_schema_load(&loader, 1, &vl_event_list_schema, "", list);
	convert(&loader, list, problems->file);
	check(&loader, list);
	vl_loader_finish(&loader);
	yaml_document_delete(&document);
	list->arena = arena;
	if (!problems->count)
		return list;
	vl_event_list_free(list);
	return NULL;
}

void vl_event_list_free(struct vl_event_list *list)
{
	if (!list)
		return;
	vl_arena_free(&list->arena);
	free(list);
}
