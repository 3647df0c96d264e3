/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline check as its users call it. */

#include "tests/support/command.h"
#include "tests/support/config_db.h"

#include <stdio.h>
#include <string.h>

/* A good configuration, or one that an edit bends, as a file of the directory. */
static void write_file(const char *name, const char *const edit[4])
{
	json_t *root = config_db_100g(4);
	char path[512];

	if (edit)
		config_db_edit(root, edit[0], edit[1], edit[2], edit[3]);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	CU_ASSERT_EQUAL(json_dump_file(root, path, JSON_INDENT(2)), 0);
	json_decref(root);
}

static void test_exit_status(void)
{
	static const char *const edit[] = {"PORT_QOS_MAP", "Ethernet0", "pfcwd_sw_enable", "3"};
	static const char *const note[] = {"WRED_PROFILE", "AZURE_LOSSLESS",
					   "green_drop_probability", "100"};

	write_file("good.json", NULL);
	write_file("bad.json", edit);
	write_file("note.json", note);
	expect_line("$V good.json", 0, "good.json: 0 errors, 0 warnings, 0 notes");
	expect("$V good.json --json /dev/full", 1, "/dev/full: cannot be written: No space left");
	expect("$V bad.json", 1, "warning [watchdog-missing]");
	expect("$V note.json", 0, "note [wred-steep]");
	expect("$V < good.json -", 0, "-: 0 errors");
	expect("$V good.json --roce-dscp 10", 1, "[roce-dscp]");
	expect("$V good.json --cable-length 2000", 1, "[headroom]");
	expect("$V good.json --congested 3 --memory 16MB", 0, "0 errors");
	expect("$V good.json --memory 15MB", 1, "[memory]");
}

static void test_usage(void)
{
	write_file("good.json", NULL);
	expect_line("$V", 2,
		    "verbline check: which file? /etc/sonic/config_db.json of a switch, or one "
		    "written by hand");
	expect("$V missing.json", 2, "missing.json: No such file or directory");
	expect("echo '{' > broken.json; $V broken.json", 2, "broken.json: line 2 column 0");
	expect("echo '{\"VLAN\": {}}' > other.json; $V other.json", 2,
	       "is it a SONiC configuration?");
	expect("$V good.json --json good.json", 2, "would overwrite the configuration");
	expect("$V good.json --roce-dscp 64", 2, "--roce-dscp 64");
	expect("$V --explain ecn-near-pfk", 2, "did you mean ecn-near-pfc");
	expect("$V . ", 2, "Is a directory");
}

/* SONiC loads a name that is given twice, and lists of ports as keys: neither is refused. */
static void test_odd_files(void)
{
	write_file("good.json", NULL);
	expect("sed 's/^  \"PORT\": {/  \"PORT\": {\\n    \"Ethernet0\": {\"mtu\": \"1\"},/' "
	       "good.json "
	       "> twice.json; $V twice.json",
	       1, "error [duplicate]: what is given twice");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "at       PORT|Ethernet0\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "given again on line"));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, ": 1 error, 0 warnings"));
	expect("echo '{\"PORT\": {}, \"QUEUE\": "
	       "{\"Ethernet10000000,Ethernet10000001,Ethernet10000002,"
	       "Ethernet10000003,Ethernet10000004|9x\": {}}}' > long.json; $V long.json",
	       1, "at       QUEUE|Ethernet10000000,...,Ethernet10000004|9x");
}

static void test_json(void)
{
	static const char *const edit[] = {"BUFFER_PROFILE", "pg_lossless_100000_40m_profile",
					   "xoff", "1000"};

	write_file("bad.json", edit);
	expect("$V bad.json --json out.json", 1, "1 error,");
	expect("/usr/bin/python3 -c \"import json; f = json.load(open('out.json')); "
	       "print(f['errors'], f['findings'][0]['rule'], len(f['findings'][0]['ports']))\"",
	       0, "1 headroom 4");
	expect("$V bad.json --json - | /usr/bin/python3 -c \"import json, sys; "
	       "print(json.load(sys.stdin)['file'])\"",
	       0, "bad.json");
}

static void test_lists(void)
{
	expect("$V --list", 0, "headroom           error    headroom too small");
	expect("$V --explain headroom", 0, "clause 31B");
	expect("$V --presets", 0, "cumulus-roce: NVIDIA Cumulus Linux");
	expect("$V --presets --json - | /usr/bin/python3 -c \"import json, sys; "
	       "print(len(json.load(sys.stdin)))\"",
	       0, "5");
}

/* The lab runs the file that was checked, and says what it assumes. */
static void test_lab(void)
{
	write_file("good.json", NULL);
	expect("${V% *} lab --switch-config good.json --no-view -D 3ms", 0, "PFC: 0 pauses");
	/* Too little headroom: who loses the end of a message waits for its timeout. */
	expect("${V% *} lab --no-view --switch-config "
	       "\"${VERBLINE_SOURCE_ROOT:-.}/docs/config_db/leaf.json\" | tr -s '\n ' ' '",
	       0, "not the bottleneck: after losses, senders stand still until their timeouts.");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "2 of 3 queue pairs bring nothing through"));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "which is 67.1ms (the flow's key timeout)"));
	expect("${V% *} lab --switch-config missing.json --no-view", 2, "missing.json");
	expect("${V% *} lab incast-dcqcn --switch-config good.json --no-view -D 70ms "
	       "--set flows[0].stagger=0",
	       0, "not count: its config_db says all");
	/* Of many switches it is said once. */
	expect("${V% *} lab leaf-spine-incast --switch-config good.json --no-view -D 100us", 1,
	       "note: ecn, pfc of leaf1 and 7 more switches do not count: their config_db says "
	       "all");
	expect("${V% *} lab leaf-spine-incast --switch-config good.json --no-view -D 100us | "
	       "grep -c 'not count'",
	       0, "1\n");
	/* The file is where the command line says, wherever the scenario is. */
	expect("mkdir elsewhere && ${V% *} lab --show incast-dcqcn >elsewhere/s.yaml && "
	       "${V% *} lab elsewhere/s.yaml --switch-config good.json --no-view -D 70ms "
	       "--set flows[0].stagger=0",
	       0, "its config_db says all");
	/* What the scenario names itself lies beside it. */
	expect("mv good.json elsewhere/ && sed 's/^switches:/switch: {config_db: "
	       "good.json}\\nswitches:/' elsewhere/s.yaml >elsewhere/t.yaml && "
	       "${V% *} lab elsewhere/t.yaml --no-view -D 70ms --set flows[0].stagger=0",
	       0, "its config_db says all");
	expect("${V% *} lab --no-view -D 70ms /dev/stdin <elsewhere/t.yaml", 2,
	       "config_db: good.json: cannot be read");
	expect("${V% *} lab incast-dcqcn --set switch.preset=nexsus --no-view", 2,
	       "did you mean nexus");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"exit_status", test_exit_status},
		{"usage", test_usage},
		{"odd_files", test_odd_files},
		{"json", test_json},
		{"lists", test_lists},
		{"lab", test_lab},
	};

	return COMMAND_RUN_SUITE("check_command", "check", tests, argc, argv);
}
