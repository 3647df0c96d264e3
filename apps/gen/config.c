/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/config.h"

#include "apps/host/addresses.h"
#include "apps/scenario/document.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_DURATION UINT64_C(10000000000)
#define DEFAULT_SIZE     "64KiB"
/* Work requests of all queue pairs together. */
#define MAX_OUTSTANDING (UINT64_C(1) << 22)

static const enum ibv_qp_type qp_types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

static void check_mix(struct vl_loader *loader, struct gen_group *group, uint32_t path_mtu)
{
	bool is_atomic = vl_flow_verb_is_atomic((enum vl_flow_verb)group->verb);
	const char *field = group->mix ? "mix" : "size", *text = group->mix, *wrong;
	char error[256];

	if (group->mix && group->size)
		vl_section_problem(loader, &group->section, "size",
				   "is not for a mix, which has sizes of its own; take one out");
	if (!text)
		text = group->size ? group->size : is_atomic ? "8" : DEFAULT_SIZE;
	if (gen_mix_parse(text, (enum vl_flow_verb)group->verb, &group->messages_mix, error,
			  sizeof(error))) {
		vl_section_problem(loader, &group->section, field, "%s", error);
		return;
	}
	group->messages_mix.in_turn = group->in_turn;
	/* The one size that nobody asked for. */
	if (!group->mix && !group->size && group->transport == VL_SCENARIO_UD)
		group->messages_mix.entries[0].least = group->messages_mix.entries[0].most =
			path_mtu;
	wrong = vl_mix_config_error(&group->messages_mix, qp_types[group->transport], path_mtu);
	if (wrong)
		vl_section_problem(loader, &group->section,
				   group->mix ? "mix"
				   : group->size && !vl_flow_verb_error(qp_types[group->transport],
									group->verb)
					   ? "size"
					   : "verb",
				   "%s", wrong);
}

static void parse_rate(struct vl_loader *loader, const struct vl_section *section,
		       const char *field, const char *text, struct gen_rate *rate)
{
	char error[256];

	if (text && gen_rate_parse(text, rate, error, sizeof(error)))
		vl_section_problem(loader, section, field,
				   "%s; a rate is 10Gb/s, 50%% of the line, or 1000/s messages",
				   error);
}

static void check_rate(struct vl_loader *loader, const struct gen_config *config,
		       struct gen_group *group)
{
	parse_rate(loader, &group->section, "rate", group->rate, &group->asked);
	parse_rate(loader, &group->section, "ramp_from", group->ramp_from, &group->asked_from);
	group->shares_total = !group->rate && config->rate;
	if (!group->rate && !config->rate) {
		static const char *const of_rates[] = {"burst", "ramp", "ramp_from"};

		for (unsigned int i = 0; i < sizeof(of_rates) / sizeof(of_rates[0]); i++) {
			if (vl_section_has(&gen_group_schema, &group->section, of_rates[i]))
				vl_section_problem(loader, &group->section, of_rates[i],
						   "is for a rate; give one, or take it out");
		}
	}
	if (!group->rate) {
		static const char *const of_own_rates[] = {"per", "counts", "aligned"};

		for (unsigned int i = 0; i < sizeof(of_own_rates) / sizeof(of_own_rates[0]); i++) {
			if (vl_section_has(&gen_group_schema, &group->section, of_own_rates[i]))
				vl_section_problem(loader, &group->section, of_own_rates[i],
						   "is for a rate of the group's own; give one, or "
						   "take it out");
		}
	}
	if (group->ramp_from && !group->ramp)
		vl_section_problem(loader, &group->section, "ramp_from",
				   "needs ramp, the time in which the rate grows");
	if (group->ramp_from && group->rate &&
	    (group->asked.is_messages != group->asked_from.is_messages ||
	     (group->asked.part > 0) != (group->asked_from.part > 0)))
		vl_section_problem(loader, &group->section, "ramp_from",
				   "must be in the unit of the rate, %s", group->rate);
	else if (group->ramp_from && group->rate &&
		 (group->asked_from.value > group->asked.value ||
		  group->asked_from.part > group->asked.part))
		vl_section_problem(loader, &group->section, "ramp_from", "must be below the rate");
	if (group->udp_source_ports > 1 && !group->udp_source_port)
		vl_section_problem(loader, &group->section, "udp_source_ports",
				   "needs udp_source_port, the first of them");
	if (group->udp_source_port && group->udp_source_port + group->udp_source_ports > 0x10000)
		vl_section_problem(loader, &group->section, "udp_source_ports",
				   "goes beyond port 65535");
}

static void check_group(struct vl_loader *loader, struct gen_config *config,
			struct gen_group *group, unsigned int number, uint32_t path_mtu)
{
	if (!group->name) {
		group->name = vl_arena_print(loader->arena, "group%u", number + 1);
		if (!group->name)
			loader->out_of_memory = true;
	}
	check_mix(loader, group, path_mtu);
	check_rate(loader, config, group);
	vl_scenario_check_cc(loader, &group->cc);
	group->first_qp = config->qp_count;
	config->qp_count += (uint32_t)group->qps;
	if (group->shares_total)
		config->sharing_qps += (uint32_t)group->qps;
	if (vl_mix_largest(&group->messages_mix) > config->largest_message)
		config->largest_message = vl_mix_largest(&group->messages_mix);
}

/* ---- Streams ------------------------------------------------------------------------------- */

static void check_sizes(struct vl_loader *loader, struct gen_stream_config *stream)
{
	struct vl_mix_config mix;
	char error[256];

	if (stream->size && !strcmp(stream->size, "imix")) {
		memcpy(stream->sizes, vl_stream_imix, sizeof(vl_stream_imix));
		stream->size_count = 3;
		return;
	}
	if (gen_mix_parse(stream->size ? stream->size : "1024", VL_FLOW_SEND, &mix, error,
			  sizeof(error))) {
		vl_section_problem(loader, &stream->section, "size", "%s", error);
		return;
	}
	stream->size_count = mix.count;
	for (uint32_t i = 0; i < mix.count; i++) {
		if (mix.entries[i].least != mix.entries[i].most ||
		    mix.entries[i].verb != VL_FLOW_SEND) {
			vl_section_problem(
				loader, &stream->section, "size",
				"a stream's sizes are single ones, as 60*7, 590*4, 1514");
			return;
		}
		stream->sizes[i] =
			(struct vl_stream_size){mix.entries[i].least, mix.entries[i].weight};
	}
}

static void check_destination(struct vl_loader *loader, const struct gen_config *config,
			      struct gen_stream_config *stream)
{
	const char *to = stream->to ? stream->to : config->to;
	char error[256];

	if (!to)
		vl_section_problem(loader, &stream->section, NULL,
				   "the destination is missing; name it with 'to: ADDRESS'");
	else if (vl_address_parse(to, &stream->destination, error, sizeof(error)))
		vl_section_problem(loader, &stream->section, stream->to ? "to" : NULL, "%s", error);
	stream->has_mac = stream->mac != NULL;
	if (stream->mac && vl_mac_parse(stream->mac, stream->destination_mac, error, sizeof(error)))
		vl_section_problem(loader, &stream->section, "mac", "%s", error);
}

static void check_stream(struct vl_loader *loader, const struct gen_config *config,
			 struct gen_stream_config *stream, unsigned int number)
{
	static const char *const of_roce[] = {"transport",         "verb",           "remote_qpn",
					      "remote_psn",        "remote_address", "rkey",
					      "congestion_control"};

	if (!stream->name) {
		stream->name = vl_arena_print(loader->arena, "stream%u", number + 1);
		if (!stream->name)
			loader->out_of_memory = true;
	}
	check_destination(loader, config, stream);
	check_sizes(loader, stream);
	parse_rate(loader, &stream->section, "rate", stream->rate, &stream->asked);
	vl_scenario_check_cc(loader, &stream->cc);
	if (stream->kind == GEN_STREAM_ROCE) {
		stream->by_peer = !stream->remote_qpn;
		if (stream->by_peer && (config->peer != GEN_PEER_CONTROL || !config->to))
			vl_section_problem(loader, &stream->section, "remote_qpn",
					   "is missing; a roce stream needs its peer's QPN, or a "
					   "peer that makes its partners ('peer: control' and 'to: "
					   "ADDRESS' of the whole)");
		else if (stream->by_peer && memcmp(&stream->destination, &config->destination,
						   sizeof(stream->destination)))
			vl_section_problem(loader, &stream->section, "to",
					   "must be the peer, which is to make the stream's "
					   "partners; or name its 'remote_qpn'");
		return;
	}
	for (unsigned int i = 0; i < sizeof(of_roce) / sizeof(of_roce[0]); i++) {
		if (vl_section_has(&gen_stream_schema, &stream->section, of_roce[i]))
			vl_section_problem(loader, &stream->section, of_roce[i],
					   "is for kind roce only; take it out");
	}
}

/* Who starts after the end would run without one, as nothing of its time is left. */
static void check_times(struct vl_loader *loader, const struct gen_config *config,
			const struct vl_section *section, uint64_t start, uint64_t lag,
			uint64_t duration)
{
	char text[VL_QUANTITY_TEXT], end[VL_QUANTITY_TEXT];
	uint64_t stop = duration ? start + duration : UINT64_MAX;

	if (config->duration && config->duration < stop)
		stop = config->duration;
	if (start + lag >= stop)
		vl_section_problem(loader, section, lag ? "stagger" : "start",
				   "the %sstart is at %s, but the end at %s; start earlier, or run "
				   "longer",
				   lag ? "last " : "",
				   vl_quantity_text(VL_QUANTITY_DURATION, start + lag, text),
				   vl_quantity_text(VL_QUANTITY_DURATION, stop, end));
	else if (duration && stop <= config->warm_up)
		vl_section_problem(loader, section, "duration",
				   "is over at %s, before the warm-up, which ends at %s",
				   vl_quantity_text(VL_QUANTITY_DURATION, stop, end),
				   vl_quantity_text(VL_QUANTITY_DURATION, config->warm_up, text));
}

static void check_all_times(struct vl_loader *loader, const struct gen_config *config)
{
	const struct gen_group *groups = config->groups.elements;
	const struct gen_stream_config *streams = config->streams.elements;

	if (config->duration && config->warm_up >= config->duration) {
		vl_section_problem(loader, &config->section, "warm_up",
				   "leaves nothing to measure; it must be shorter than the "
				   "duration");
		return;
	}
	for (unsigned int i = 0; i < config->groups.count; i++)
		check_times(loader, config, &groups[i].section, groups[i].start,
			    groups[i].stagger * (groups[i].qps - 1), groups[i].duration);
	for (unsigned int i = 0; i < config->streams.count; i++)
		check_times(loader, config, &streams[i].section, streams[i].start, 0,
			    streams[i].duration);
}

static void check_all(struct vl_loader *loader, struct gen_config *config, uint32_t path_mtu)
{
	struct gen_group *groups = config->groups.elements;
	struct gen_rate total = {0};
	char error[256];
	uint64_t outstanding = 0;
	bool all_counted = true;

	if (!config->groups.count && !config->streams.count)
		vl_section_problem(loader, &config->section, NULL,
				   "there is nothing to send; list 'groups' or 'streams'");
	if (!config->to && config->groups.count)
		vl_section_problem(loader, &config->section, NULL,
				   "the peer is missing; name it with 'to: ADDRESS' or --to");
	else if (config->to &&
		 vl_address_parse(config->to, &config->destination, error, sizeof(error)))
		vl_section_problem(loader, &config->section, "to", "%s", error);
	parse_rate(loader, &config->section, "rate", config->rate, &total);
	for (unsigned int i = 0; i < config->streams.count; i++) {
		struct gen_stream_config *streams = config->streams.elements;

		check_stream(loader, config, &streams[i], i);
		all_counted = all_counted &&
			      (config->groups.count || streams[i].frames || streams[i].duration);
	}
	for (unsigned int i = 0; i < config->groups.count; i++) {
		check_group(loader, config, &groups[i], i, path_mtu);
		outstanding += groups[i].qps * groups[i].depth;
		all_counted = all_counted && (groups[i].messages || groups[i].duration);
		if (groups[i].shares_total && config->rate)
			groups[i].asked = total;
	}
	if (config->rate && config->groups.count && !config->sharing_qps)
		vl_section_problem(loader, &config->section, "rate",
				   "has no group to be for, as each has its own; take one out");
	else if (config->rate && !config->groups.count)
		vl_section_problem(loader, &config->section, "rate",
				   "is for groups; give the streams theirs");
	if (!config->rate && vl_section_has(&gen_config_schema, &config->section, "counts"))
		vl_section_problem(loader, &config->section, "counts",
				   "is for a rate; give one, or take it out");
	if (config->peer == GEN_PEER_GIVEN && config->groups.count > 1)
		vl_section_problem(loader, &config->section, "groups",
				   "must be one where the peer's numbers are given");
	if (config->qp_count > GEN_MAX_QPS)
		vl_section_problem(loader, &config->section, "groups",
				   "have %u queue pairs together; at most %u are allowed",
				   config->qp_count, GEN_MAX_QPS);
	if (outstanding > MAX_OUTSTANDING)
		vl_section_problem(loader, &config->section, "groups",
				   "have %llu outstanding messages together; at most %llu are "
				   "allowed: lower depth or qps",
				   (unsigned long long)outstanding,
				   (unsigned long long)MAX_OUTSTANDING);
	if (!config->duration && !all_counted)
		config->duration = DEFAULT_DURATION;
	check_all_times(loader, config);
}

struct gen_config *gen_config_parse(const char *text, size_t length,
				    const struct vl_texts *overrides, uint32_t path_mtu,
				    struct vl_problems *problems)
{
	struct gen_config *config = calloc(1, sizeof(*config));
	struct vl_arena arena = {0};
	yaml_document_t document;
	struct vl_loader loader = {&document, problems, &arena, false};

	if (!config) {
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL, "out of memory");
		return NULL;
	}
	problems->overrides = overrides->values;
	if (!vl_document_load(text, length, "a file for verbline gen",
			      "'verbline gen --show' prints one", &document, problems)) {
		free(config);
		return NULL;
	}
	for (unsigned int i = 0; i < overrides->count; i++)
		vl_schema_override(&loader, overrides->values[i], (int)i);
	vl_schema_load(&loader, 1, &gen_config_schema, "", config);
	check_all(&loader, config, path_mtu);
	vl_loader_finish(&loader);
	yaml_document_delete(&document);
	config->arena = arena;
	if (!problems->count)
		return config;
	gen_config_free(config);
	return NULL;
}

void gen_config_free(struct gen_config *config)
{
	if (!config)
		return;
	vl_arena_free(&config->arena);
	free(config);
}
