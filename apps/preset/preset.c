/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/preset/preset.h"

#include "apps/option.h"
#include "apps/preset/parameters.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GIGABIT      UINT64_C(1000000000)

#define NO_MEMORY                                                                                  \
	{                                                                                          \
		"packet memory", "5 MB for each Tb/s of its ports, at least 16 MB",                \
			"assumed: the source names no switch"                                      \
	}
#define NO_ALPHA                                                                                   \
	{                                                                                          \
		"threshold of lossless groups", "alpha 1 (as much as is free)",                    \
			"assumed: the source leaves it to the switch"                              \
	}
#define NO_HEADROOM                                                                                \
	{                                                                                          \
		"headroom", "by the formula, for the link's rate, cable and longest frame",        \
			"assumed: the source leaves it to the switch"                              \
	}

/* ---- SONiC --------------------------------------------------------------------------------- */

static const struct preset_headroom tomahawk_headrooms[] = {
	{10 * GIGABIT, 5, 35776},   {10 * GIGABIT, 40, 37024},   {10 * GIGABIT, 300, 46176},
	{25 * GIGABIT, 5, 53248},   {25 * GIGABIT, 40, 53248},   {25 * GIGABIT, 300, 79040},
	{40 * GIGABIT, 5, 66560},   {40 * GIGABIT, 40, 71552},   {40 * GIGABIT, 300, 108160},
	{50 * GIGABIT, 5, 90272},   {50 * GIGABIT, 40, 96096},   {50 * GIGABIT, 300, 141856},
	{100 * GIGABIT, 5, 165568}, {100 * GIGABIT, 40, 177632}, {100 * GIGABIT, 300, 268736},
};

static const struct preset_parameters sonic = {
	.memory = 15982720,
	.ingress_pool = 10875072,
	.shared_headroom = 4194112,
	.alpha = 1,
	.lossy_alpha = 8,
	.reserved = 1248,
	.xon = 2288,
	.xon_offset = 2288,
	.lossless = 1 << 3 | 1 << 4,
	.maps = {{0, 63, 1}, {3, 3, 3}, {4, 4, 4}, {5, 5, 2}, {8, 8, 0}, {46, 46, 5}, {48, 48, 6}},
	.map_count = 7,
	.queues = {{0, false, 14},
		   {1, false, 14},
		   {2, false, 14},
		   {3, false, 15},
		   {4, false, 15},
		   {5, false, 14},
		   {6, false, 14}},
	.queue_count = 7,
	.kmin = 1048576,
	.kmax = 2097152,
	.pmax = 0.05,
	.marked = 1 << 3 | 1 << 4,
	.headrooms = tomahawk_headrooms,
	.headroom_count = COUNT(tomahawk_headrooms),
	.watchdog_ms = 200,
	.poll_ms = 200,
};

static const struct vl_preset_value sonic_values[] = {
	{"DSCP to class", "3 to 3, 4 to 4, 5 to 2, 8 to 0, 46 to 5, 48 to 6, others to 1", "a"},
	{"lossless", "classes 3 and 4, by PFC priorities 3 and 4", "a"},
	{"scheduling", "DWRR, weight 15 for 3 and 4, 14 for 0, 1, 2, 5, 6", "a"},
	{"ECN", "queues 3 and 4: Kmin 1048576 B, Kmax 2097152 B, 5 %, all colours", "a"},
	{"ingress pool", "10875072 B shared, 4194112 B of shared headroom", "b"},
	{"egress pools", "15982720 B", "b"},
	{"lossless groups", "alpha 1, 1248 B reserved, XON 2288 B below the limit", "c"},
	{"lossy groups and queues", "alpha 8", "b"},
	{"headroom", "10 to 100 Gb/s, 5, 40, 300 m: 35776 to 268736 B", "c"},
	{"headroom above 100 Gb/s or 300 m", "by the formula", "assumed: not in the table"},
	{"watchdog", "drop, 200 ms to detect and to restore, polled each 200 ms", "d"},
	{"cells", "bytes are counted", "assumed: the chip has cells of 208 B"},
};

/* ---- Cumulus ------------------------------------------------------------------------------- */

static const struct preset_parameters cumulus = {
	.alpha = 1,
	.lossless = 1 << 3,
	.maps = {{0, 63, 0}, {24, 31, 3}, {48, 55, 6}},
	.map_count = 3,
	.queues = {{0, false, 50}, {3, false, 50}, {6, true, 0}},
	.queue_count = 3,
	.kmin = 150000,
	.kmax = 1500000,
	.pmax = 1,
	.marked = 1 << 0 | 1 << 3,
	.headroom_metres = 100,
};

static const struct vl_preset_value cumulus_values[] = {
	{"DSCP to class", "24 to 31 to 3 (RoCE), 48 to 55 to 6 (CNP), others to 0", "a"},
	{"lossless", "class 3, by PFC priority 3", "a"},
	{"scheduling", "class 6 strict, 3 and 0 with 50 % each", "a"},
	{"ECN", "queues 0 and 3: Kmin 150 KB, Kmax 1500 KB, 100 %", "a, b"},
	{"headroom", "by the formula, for a cable of 100 m at least", "a gives the length"},
	NO_MEMORY,
	NO_ALPHA,
};

/* ---- Nexus --------------------------------------------------------------------------------- */

static const struct preset_parameters nexus = {
	.alpha = 1,
	.lossless = 1 << 3,
	.maps = {{0, 63, 0}, {24, 24, 3}, {26, 26, 3}, {48, 48, 7}},
	.map_count = 4,
	.queues = {{0, false, 40}, {3, false, 60}, {7, true, 0}},
	.queue_count = 3,
	.kmin = 150000,
	.kmax = 3000000,
	.pmax = 0.07,
	.marked = 1 << 3,
};

static const struct vl_preset_value nexus_values[] = {
	{"DSCP to class", "24 and 26 to 3 (RoCE), 48 to 7 (CNP), others to 0", "a"},
	{"lossless", "class 3, by PFC priority 3", "a"},
	{"scheduling", "class 7 strict, 3 with 60 %, 0 with 40 %", "a"},
	{"ECN", "queue 3: Kmin 150 KB, Kmax 3000 KB, 7 %, of the instant (weight 0)", "a"},
	NO_HEADROOM,
	NO_MEMORY,
	NO_ALPHA,
};

/* ---- EOS ----------------------------------------------------------------------------------- */

static const struct preset_parameters eos = {
	.alpha = 1,
	.lossless = 1 << 3,
	.maps = {{26, 26, 3}, {48, 48, 7}},
	.map_count = 2,
	.queues = {{7, true, 0}},
	.queue_count = 1,
	.kmin = 508000,
	.kmax = 2540000,
	.pmax = 0.2,
	.marked = 1 << 3,
};

static const struct vl_preset_value eos_values[] = {
	{"DSCP to class", "26 to 3 (RoCE), 48 to 7 (CNP), others by DSCP / 8", "a"},
	{"lossless", "class 3, by PFC priority 3", "a"},
	{"ECN", "queue 3: Kmin 2000, Kmax 10000 segments, 20 %, of the instant (weight 0)", "a"},
	{"a segment", "254 B: Kmin 508 KB, Kmax 2540 KB", "assumed: the chip's cell"},
	{"scheduling", "class 7 strict, others alike", "assumed: EOS starts with strict queues"},
	NO_HEADROOM,
	NO_MEMORY,
	NO_ALPHA,
};

/* ---- HPCC ---------------------------------------------------------------------------------- */

static const struct preset_parameters hpcc = {
	.memory = 32 << 20,
	.alpha = 0.125,
	.reserved = 4096,
	.xon_offset = 3072,
	.lossless = 1 << 3,
	.queues = {{6, true, 0}},
	.queue_count = 1,
	.marking_rate = 100,
	.kmin = 400000,
	.kmax = 1600000,
	.pmax = 0.2,
	.marked = 1 << 3,
	.headroom_delays = 3,
};

static const struct vl_preset_value hpcc_values[] = {
	{"packet memory", "32 MiB", "a"},
	{"threshold of lossless groups", "alpha 1/8, 4 KiB reserved, XON 3 KiB below", "b"},
	{"headroom", "line rate times delay times 3, no less than the formula", "b"},
	{"ECN", "at 100 Gb/s Kmin 400 KB, Kmax 1600 KB, 20 %; by the rate at others", "a"},
	{"lossless", "class 3, by PFC priority 3", "a"},
	{"DSCP to class", "DSCP / 8", "assumed: the simulator carries the class itself"},
	{"scheduling", "class 6 (acknowledgements, CNPs) strict, others alike", "b"},
};

/* ---- All ----------------------------------------------------------------------------------- */

const struct vl_preset vl_presets[] = {
	{"sonic-lossless", "SONiC's template for lossless RDMA on a Tomahawk of 16 MB",
	 "a sonic-buildimage, files/build_templates/qos_config.j2\n"
	 "b sonic-buildimage, device/common/profiles/th/gen/BALANCED/buffers_defaults_t1.j2\n"
	 "c sonic-buildimage, device/common/profiles/th/gen/BALANCED/pg_profile_lookup.ini\n"
	 "d sonic-utilities, pfcwd/main.py (start_default, up to 32 ports)",
	 sonic_values, COUNT(sonic_values), &sonic},
	{"cumulus-roce", "NVIDIA Cumulus Linux, 'nv set qos roce mode lossless'",
	 "a docs.nvidia.com, Cumulus Linux, RDMA over Converged Ethernet - RoCE\n"
	 "b docs.nvidia.com, Onyx user manual, RoCE commands ('Min: 150, Max: 1500')",
	 cumulus_values, COUNT(cumulus_values), &cumulus},
	{"nexus", "Cisco Nexus 9000, the policies commonly given for RoCEv2 at 100 Gb/s",
	 "a templates for NX-OS as published by operators (random-detect minimum-threshold 150\n"
	 "  kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn); Cisco's own\n"
	 "  guide was not at hand to compare",
	 nexus_values, COUNT(nexus_values), &nexus},
	{"eos", "Arista EOS for DCQCN, as given for a 7388 with Broadcom NICs",
	 "a Broadcom and AMD, cluster networking guide, match switch QoS to NIC for DCQCN",
	 eos_values, COUNT(eos_values), &eos},
	{"hpcc", "the switch of the HPCC paper's ns-3 simulator",
	 "a HPCC ns-3, simulation/mix/config.txt and run.py (KMIN_MAP, KMAX_MAP, BUFFER_SIZE)\n"
	 "b HPCC ns-3, switch-mmu.cc and third.cc",
	 hpcc_values, COUNT(hpcc_values), &hpcc},
};
const unsigned int vl_preset_count = COUNT(vl_presets);

const struct vl_preset *vl_preset_find(const char *name, const char **nearest)
{
	const char *names[COUNT(vl_presets) + 1];

	for (unsigned int i = 0; i < COUNT(vl_presets); i++) {
		if (!strcmp(vl_presets[i].name, name))
			return &vl_presets[i];
		names[i] = vl_presets[i].name;
	}
	names[COUNT(vl_presets)] = NULL;
	*nearest = vl_nearest(name, names);
	return NULL;
}

static void print_preset(const struct vl_preset *preset, FILE *out)
{
	fprintf(out, "%s: %s\n", preset->name, preset->summary);
	for (unsigned int i = 0; i < preset->value_count; i++) {
		const struct vl_preset_value *value = &preset->values[i];
		bool is_letter = strncmp(value->source, "assumed", 7) != 0;

		fprintf(out, "  %s: %s %s%s%s\n", value->what, value->value, is_letter ? "[" : "(",
			value->source, is_letter ? "]" : ")");
	}
	for (const char *line = preset->sources; *line;) {
		size_t length = strcspn(line, "\n");

		fprintf(out, "    %.*s\n", (int)length, line);
		line += length + (line[length] == '\n');
	}
}

void vl_presets_print(const struct vl_preset *preset, FILE *out)
{
	for (unsigned int i = 0; i < vl_preset_count; i++) {
		if (preset && preset != &vl_presets[i])
			continue;
		if (i && !preset)
			fputc('\n', out);
		print_preset(&vl_presets[i], out);
	}
}

json_t *vl_presets_json(void)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < vl_preset_count; i++) {
		const struct vl_preset *preset = &vl_presets[i];
		json_t *values = json_array();

		for (unsigned int j = 0; j < preset->value_count; j++)
			json_array_append_new(values, json_pack("{s:s, s:s, s:s}", "what",
								preset->values[j].what, "value",
								preset->values[j].value, "source",
								preset->values[j].source));
		json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:o}", "name", preset->name,
						       "summary", preset->summary, "sources",
						       preset->sources, "values", values));
	}
	return array;
}
