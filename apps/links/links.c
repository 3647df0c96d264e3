/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/links/links.h"

#include "apps/report/json_file.h"
#include "dataplane/fabric/link_spec.h"

#include <stdio.h>
#include <string.h>

#define MAX_WRITTEN 200

struct links_options {
	const char *json;
};

static const struct vl_option options[] = {
	{.name = "json",
	 .argument = "FILE",
	 .help = "Write the same as JSON; - is the standard output",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct links_options, json)},
};

/* ---- Tables ------------------------------------------------------------------------------ */

static void print_generations(void)
{
	const struct vl_link_generation *generation;

	printf("Generations\n"
	       "  name    technology  lanes  Gb/s a lane  signalling  coding     FEC          "
	       "rate Gb/s  FEC ns\n");
	for (unsigned int n = 0; (generation = vl_link_generation(n)); n++) {
		printf("  %-6s  %-10s  %5u  %11u  %4.4g %-4s  %-9s  %-11s  %9.4g  %6u%s\n",
		       generation->name, vl_link_technology_name(generation->technology),
		       generation->lanes, generation->lane_rate,
		       generation->lane_signalling / 1000.0,
		       vl_link_modulation_name(generation->modulation), generation->encoding,
		       vl_link_fec_name(generation->fec), (double)generation->rate / 1e9,
		       generation->fec_latency, generation->is_unverified ? " *" : "");
	}
}

static void print_media(void)
{
	const struct vl_link_medium *medium;

	printf("\nMedia: reach in metres by Gb/s a lane\n"
	       "  name    what                    fibre             10     25     50    100    200 "
	       " "
	       "ns an end\n");
	for (unsigned int n = 0; (medium = vl_link_medium(n)); n++) {
		printf("  %-4s%-2s  %-22s  %-12s", medium->name, medium->takes_lanes ? "N" : "",
		       medium->title, vl_link_fibre_name(medium->fibre));
		for (unsigned int i = 0; i < VL_LANE_CLASSES; i++) {
			if (medium->reach[i])
				printf("  %5u", medium->reach[i]);
			else
				printf("      -");
		}
		printf("  %u (PAM4 %u) *\n", medium->latency_nrz, medium->latency_pam4);
	}
}

static void print_form_factors(void)
{
	const struct vl_link_form_factor *form_factor;

	printf("\nForm factors\n"
	       "  name        lanes  Gb/s a lane  Gb/s  its cage takes too\n");
	for (unsigned int n = 0; (form_factor = vl_link_form_factor(n)); n++) {
		printf("  %-10s  %5u  %11u  %4u  %s\n", form_factor->name, form_factor->lanes,
		       form_factor->lane_rate, form_factor->lanes * form_factor->lane_rate,
		       form_factor->fits ? form_factor->fits : "-");
	}
}

static void print_all(void)
{
	print_generations();
	print_media();
	print_form_factors();
	printf("\n* of the right order of magnitude; no primary source was found.\n"
	       "Signals take %.2f ns a metre in fibre, %.2f ns in copper. A link is written\n"
	       "SPEED [WIDTHx] FORM_FACTOR [- SPEED FORM_FACTOR] MEDIUM LENGTH, as in\n"
	       "'800g osfp dr8 120 m'.\n",
	       VL_FIBRE_PS_PER_METRE / 1000.0, VL_COPPER_PS_PER_METRE / 1000.0);
}

static void print_link(const char *written, const struct vl_link_spec *spec)
{
	const struct vl_link_generation *generation = spec->generation;

	printf("%s\n", written);
	printf("  rate         %.4g Gb/s of data\n", (double)spec->rate / 1e9);
	printf("  electrical   %u lanes of %u Gb/s (%.4g Gb/s %s), %s\n", generation->lanes,
	       generation->lane_rate, generation->lane_signalling / 1000.0,
	       vl_link_modulation_name(generation->modulation), generation->encoding);
	printf("  ends         %s, %s\n", spec->form_factors[0]->title,
	       spec->form_factors[1]->title);
	printf("  medium       %s: %u x %u Gb/s, %s\n", spec->medium->title, spec->medium_lanes,
	       spec->medium_lane_rate, vl_link_fibre_name(spec->medium->fibre));
	printf("  propagation  %u ns over %g m\n", spec->propagation, spec->length);
	printf("  FEC          %u ns, %s%s\n", spec->fec_latency, vl_link_fec_name(generation->fec),
	       generation->is_unverified ? " *" : "");
	printf("  modules      %u ns, both ends%s\n", spec->module_latency,
	       spec->module_latency ? " *" : "");
	printf("  delay        %u ns each way\n", spec->delay);
	if (generation->is_unverified || spec->module_latency)
		printf("* of the right order of magnitude; no primary source was found.\n");
}

/* ---- JSON -------------------------------------------------------------------------------- */

static json_t *generation_json(const struct vl_link_generation *generation)
{
	return json_pack(
		"{s:s, s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:I, s:i, s:b}", "name", generation->name,
		"technology", vl_link_technology_name(generation->technology), "lanes",
		generation->lanes, "lane_gbps", (int)generation->lane_rate, "lane_signalling_mbps",
		(int)generation->lane_signalling, "modulation",
		vl_link_modulation_name(generation->modulation), "encoding", generation->encoding,
		"fec", vl_link_fec_name(generation->fec), "rate_bps", (json_int_t)generation->rate,
		"fec_latency_ns", (int)generation->fec_latency, "is_unverified",
		(int)generation->is_unverified);
}

static json_t *medium_json(const struct vl_link_medium *medium)
{
	json_t *reach = json_object();
	char name[8];

	for (unsigned int i = 0; i < VL_LANE_CLASSES; i++) {
		snprintf(name, sizeof(name), "%u", vl_link_lane_class_rate(i));
		if (medium->reach[i])
			json_object_set_new(reach, name, json_integer(medium->reach[i]));
	}
	return json_pack("{s:s, s:s, s:s, s:b, s:o, s:i, s:i}", "name", medium->name, "title",
			 medium->title, "fibre", vl_link_fibre_name(medium->fibre), "takes_lanes",
			 (int)medium->takes_lanes, "reach_m_by_lane_gbps", reach,
			 "end_latency_nrz_ns", (int)medium->latency_nrz, "end_latency_pam4_ns",
			 (int)medium->latency_pam4);
}

static json_t *form_factor_json(const struct vl_link_form_factor *form_factor)
{
	return json_pack("{s:s, s:s, s:i, s:i}", "name", form_factor->name, "title",
			 form_factor->title, "lanes", form_factor->lanes, "lane_gbps",
			 (int)form_factor->lane_rate);
}

static json_t *all_json(void)
{
	json_t *generations = json_array(), *media = json_array(), *forms = json_array();

	for (unsigned int n = 0; vl_link_generation(n); n++)
		json_array_append_new(generations, generation_json(vl_link_generation(n)));
	for (unsigned int n = 0; vl_link_medium(n); n++)
		json_array_append_new(media, medium_json(vl_link_medium(n)));
	for (unsigned int n = 0; vl_link_form_factor(n); n++)
		json_array_append_new(forms, form_factor_json(vl_link_form_factor(n)));
	return json_pack("{s:i, s:s, s:o, s:o, s:o}", "schema", 1, "command", "links",
			 "generations", generations, "media", media, "form_factors", forms);
}

static json_t *link_json(const char *written, const struct vl_link_spec *spec)
{
	return json_pack(
		"{s:i, s:s, s:s, s:o, s:s, s:s, s:s, s:i, s:i, s:f, s:I, s:i, s:i, s:i, "
		"s:i}",
		"schema", 1, "command", "links", "link", written, "generation",
		generation_json(spec->generation), "form_factor", spec->form_factors[0]->name,
		"far_form_factor", spec->form_factors[1]->name, "medium", spec->medium->name,
		"medium_lanes", spec->medium_lanes, "medium_lane_gbps", (int)spec->medium_lane_rate,
		"length_m", spec->length, "rate_bps", (json_int_t)spec->rate, "propagation_ns",
		(int)spec->propagation, "fec_latency_ns", (int)spec->fec_latency,
		"module_latency_ns", (int)spec->module_latency, "delay_ns", (int)spec->delay);
}

/* ---- The command ------------------------------------------------------------------------- */

/* The words of a link, quoted or not, as one text. False: too long. */
static bool join(const struct vl_operands *operands, char *out, size_t size)
{
	size_t used = 0;

	for (unsigned int i = 0; i < operands->count; i++) {
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "",
					 operands->values[i]);
		if (used >= size)
			return false;
	}
	return true;
}

static int write_json(const struct vl_command *command, json_t *root, const char *path)
{
	char error[256];

	if (!vl_json_file_write(root, path, error, sizeof(error)))
		return VL_EXIT_OK;
	vl_command_error(command, "%s", error);
	return VL_EXIT_FAILED;
}

static int run(const struct vl_command *command, int argc, char **argv)
{
	struct links_options given = {0};
	struct vl_operands operands;
	struct vl_link_spec spec;
	char written[MAX_WRITTEN], error[512];
	int status = vl_command_start(command, argc, argv, &given, &operands);

	if (status >= 0)
		return status;
	if (!operands.count) {
		if (given.json)
			return write_json(command, all_json(), given.json);
		print_all();
		return VL_EXIT_OK;
	}
	if (!join(&operands, written, sizeof(written))) {
		vl_command_error(command, "a link is at most %d characters", MAX_WRITTEN - 1);
		return VL_EXIT_USAGE;
	}
	if (vl_link_spec_parse(written, &spec, error, sizeof(error))) {
		vl_command_error(command, "%s: %s", written, error);
		return VL_EXIT_USAGE;
	}
	if (given.json)
		return write_json(command, link_json(written, &spec), given.json);
	print_link(written, &spec);
	return VL_EXIT_OK;
}

const struct vl_command vl_links_command = {
	.name = "links",
	.operands = "[LINK]",
	.most_operands = 16,
	.summary = "Ethernet and InfiniBand generations, media, modules; what a link comes to",
	.description = "Without a LINK, prints the generations of links, the media with their "
		       "reach, and the "
		       "form factors of modules. With one, works out its rate and its delay, part "
		       "by part, "
		       "or says why it cannot be built. Scenarios take links written so.",
	.examples = "verbline links\n"
		    "verbline links 800g osfp dr8 120 m\n"
		    "verbline links ndr osfp aoc 20 m\n"
		    "verbline links 400g osfp - 400g qsfp112 dac 2 m\n",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = run,
};
