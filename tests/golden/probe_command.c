/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline probe as its users call it, on emulated switches. */

#include "tests/support/command.h"
#include "tests/support/config_db.h"

#include <stdio.h>

/* A scenario of one switch whose configuration is the rest of the line. */
#define SCENARIO(switch)                                                                           \
	"printf 'name: t\\nendpoints: [{name: a}, {name: b}]\\nlinks:\\n  - {from: a, to: s, "     \
	"rate: 100Gb/s, delay: 50ns}\\n  - {from: b, to: s, rate: 100Gb/s, delay: 50ns}\\nflows: " \
	"[{name: f, from: a, to: b}]\\nswitches:\\n  - {name: s, " switch "}\\n' > t.yaml; "

#define PFC "buffer: 1MB, pfc: {xoff: 300KB, xon: 200KB, headroom: 100KB}"

/* Asserts with Python that what the JSON says is within part of what is configured. */
static void expect_near(const char *arguments, const char *keys, double part)
{
	char command[2048];

	snprintf(command, sizeof(command),
		 "$V %s --json - | /usr/bin/python3 -c \"import json, sys\n"
		 "r = json.load(sys.stdin)['results']\n"
		 "for k in '%s'.split():\n"
		 "    v = r\n"
		 "    for p in k.split('.'): v = v[p]\n"
		 "    d = abs(v.get('value', 0) / v['configured'] - 1)\n"
		 "    print(k, v, 'far' if d > %g else 'near')\n"
		 "\" | tee found; ! grep -q far found && grep -q near found",
		 arguments, keys, part);
	expect(command, 0, "near");
}

static void test_preset(void)
{
	expect_near("all --preset hpcc",
		    "xoff.bytes xon.bytes headroom.bytes capacity.bytes ecn.kmin_bytes "
		    "ecn.kmax_bytes ecn.pmax drain.rate_bit_per_s",
		    0.05);
	expect("$V ecn --preset hpcc --rate 25Gb/s --cable-length 100", 0, "25Gb/s; DSCP 26");
	expect("$V drain --preset sonic-lossless", 0, "DSCP 3, priority 3");
	/* A pause ends, and the next one begins, in the same nanosecond. */
	expect("timeout -s KILL 60 $V xon --preset sonic-lossless --rate 1.6Tb/s", 0, "frames in");
}

static void test_config_db(void)
{
	json_t *root = config_db_100g(4);
	char path[512];

	snprintf(path, sizeof(path), "%s/db.json", directory);
	CU_ASSERT_EQUAL(json_dump_file(root, path, 0), 0);
	json_decref(root);
	expect("$V xoff --switch-config db.json", 0, "db.json, sender at Ethernet0, receiver at");
	expect_near("--switch-config db.json", "xoff.bytes headroom.bytes ecn.kmin_bytes", 0.05);
	expect("$V xoff --switch-config db.json --rate 25Gb/s", 2,
	       "no two ports of one speed that --rate says");
}

static void test_scenario(void)
{
	expect(SCENARIO("cell_size: 208B, pfc: {headroom: 200KB, xoff: 300KB, xon: 200KB}, "
			"ecn: {kmin: 50KB, kmax: 200KB, pmax: 20%%}") "cat t.yaml",
	       0, "cell_size");
	expect_near("all --scenario t.yaml",
		    "xoff.bytes xon.bytes headroom.bytes ecn.kmin_bytes ecn.kmax_bytes ecn.pmax",
		    0.05);
	expect("$V xoff --scenario t.yaml --switch nosuch", 2, "has no switch named nosuch");
	expect("$V xoff --scenario nosuch.yaml", 2, "nosuch.yaml");
	expect("echo 'name: [' > bad.yaml; $V xoff --scenario bad.yaml", 2, "bad.yaml");
}

/* What cannot be found out is said, and is status 1. */
static void test_not_found_out(void)
{
	/* Its group is lossy: frames are lost before it pauses. */
	expect(SCENARIO(PFC ", maps: {class_to_group: {3: 0}}") "$V xoff --scenario t.yaml", 1,
	       "without asking for a pause");
	expect("$V all --scenario t.yaml", 1, "not looked for, as XOFF was not found");
	/* No marking is found out, too. */
	expect(SCENARIO(PFC) "$V ecn --scenario t.yaml", 0, "The switch does not mark: with up to");
	expect(SCENARIO(PFC
			", ecn: {kmin: 100KB, kmax: 20MB, pmax: 100%%}") "$V ecn --scenario t.yaml",
	       1, "Kmax is beyond the");
	/* No PFC at all. */
	expect(SCENARIO("buffer: 1MB") "$V xoff --scenario t.yaml", 1,
	       "does not obey PFC of priority 3");
	/* The class's pauses are another's. */
	expect("$V ecn --preset hpcc --dscp 26 --priority 5", 1, "does not obey PFC of priority 5");
	expect("$V ecn --preset hpcc --frames 150000", 1, "which is all that was allowed");
	expect("$V xoff --preset hpcc --frames 5000", 1, "not found out with 5000 frames");
	expect("timeout -s INT 0.3 $V all --preset sonic-lossless", 124, "interrupted");
}

static void test_usage(void)
{
	expect_line("$V", 2,
		    "verbline probe: which switch? give one of --preset, --switch-config, "
		    "--scenario, or two --port of a real switch");
	expect("$V xof --preset hpcc", 2, "did you mean xoff");
	expect("$V --preset hpc", 2, "did you mean hpcc");
	expect("$V --preset hpcc --scenario t.yaml", 2, "give only one of");
	expect("$V --port ring:a", 2, "--port: give two");
	expect("$V --preset hpcc --mac 02:00:00:00:00:01", 2, "go with --port");
	expect("$V --preset hpcc --switch s", 2, "--switch goes with --scenario");
	expect("$V --preset hpcc --json /nosuch/dir/file", 2, "/nosuch/dir/file");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"preset", test_preset},     {"config_db", test_config_db},
		{"scenario", test_scenario}, {"not_found_out", test_not_found_out},
		{"usage", test_usage},
	};

	return COMMAND_RUN_SUITE("probe_command", "probe", tests, argc, argv);
}
