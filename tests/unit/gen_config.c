/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What `verbline gen` is told: files, settings, mixes and rates; what is wrong is said with its
 * place. */

#include "apps/gen/config.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <string.h>

static struct vl_problems problems;

static struct gen_config *parse(const char *text, const struct vl_texts *settings)
{
	static const struct vl_texts none;

	memset(&problems, 0, sizeof(problems));
	problems.file = "g.yaml";
	return gen_config_parse(text, strlen(text), settings ? settings : &none, 4096, &problems);
}

static void refuse(const char *text, const char *expected)
{
	char printed[4000] = "";
	FILE *out;

	CU_ASSERT_PTR_NULL_FATAL(parse(text, NULL));
	out = fmemopen(printed, sizeof(printed), "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	vl_problems_print(&problems, out);
	fclose(out);
	if (strcmp(printed, expected))
		printf("\n got  %s want %s", printed, expected);
	CU_ASSERT_STRING_EQUAL(printed, expected);
}

static void test_file(void)
{
	struct gen_config *config = parse("to: 10.0.0.2\n"
					  "duration: 5s\n"
					  "rate: 10Gb/s\n"
					  "groups:\n"
					  "  - name: a\n"
					  "    qps: 30\n"
					  "    mix: write:64KiB*7, read:4KiB..8KiB*3\n"
					  "  - qps: 10\n"
					  "    transport: UC\n"
					  "    verb: send\n"
					  "    size: 100\n"
					  "    rate: 25%\n"
					  "    per: group\n"
					  "    ecn: not-ect\n"
					  "    congestion_control: {algorithm: none}\n",
					  NULL);
	struct gen_group *groups;

	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	groups = config->groups.elements;
	CU_ASSERT_EQUAL(config->duration, UINT64_C(5000000000));
	CU_ASSERT_EQUAL(config->qp_count, 40);
	CU_ASSERT_EQUAL(config->sharing_qps, 30);
	CU_ASSERT_EQUAL(config->largest_message, 65536);
	CU_ASSERT_EQUAL(config->destination.raw[15], 2);
	CU_ASSERT_TRUE(groups[0].shares_total);
	CU_ASSERT_EQUAL(groups[0].asked.value, UINT64_C(10000000000));
	CU_ASSERT_EQUAL(groups[0].messages_mix.count, 2);
	CU_ASSERT_EQUAL(groups[0].messages_mix.entries[0].weight, 7);
	CU_ASSERT_EQUAL(groups[0].messages_mix.entries[1].verb, VL_FLOW_READ);
	CU_ASSERT_EQUAL(groups[0].messages_mix.entries[1].least, 4096);
	CU_ASSERT_EQUAL(groups[0].messages_mix.entries[1].most, 8192);
	CU_ASSERT_PTR_EQUAL(groups[0].cc.resolved.algorithm, &vl_cc_dcqcn);
	CU_ASSERT_STRING_EQUAL(groups[1].name, "group2");
	CU_ASSERT_FALSE(groups[1].shares_total);
	CU_ASSERT_DOUBLE_EQUAL(groups[1].asked.part, 0.25, 1e-12);
	CU_ASSERT_EQUAL(groups[1].first_qp, 30);
	CU_ASSERT_EQUAL(groups[1].ecn, GEN_ECN_NOT_ECT);
	gen_config_free(config);
}

/* Without an end of its own a run lasts ten seconds; messages that are counted have one. */
static void test_defaults(void)
{
	struct gen_config *config = parse("to: fd00::2\ngroups: [{name: a}]\n", NULL);
	struct gen_group *group;

	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	group = config->groups.elements;
	CU_ASSERT_EQUAL(config->duration, UINT64_C(10000000000));
	CU_ASSERT_EQUAL(group->messages_mix.entries[0].most, 65536);
	CU_ASSERT_EQUAL(group->messages_mix.entries[0].verb, VL_FLOW_WRITE);
	gen_config_free(config);
	config = parse("to: 10.0.0.2\ngroups: [{messages: 5}]\n", NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	CU_ASSERT_EQUAL(config->duration, 0);
	gen_config_free(config);
}

static void test_settings(void)
{
	const struct vl_texts settings = {
		{"to=10.0.0.9", "groups[0].qps=7", "groups[a].size=64,1KiB*3"}, 3};
	struct gen_config *config = parse("groups: [{name: a}]\n", &settings);
	struct gen_group *group;

	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	group = config->groups.elements;
	CU_ASSERT_EQUAL(group->qps, 7);
	CU_ASSERT_EQUAL(group->messages_mix.count, 2);
	CU_ASSERT_EQUAL(group->messages_mix.entries[1].weight, 3);
	gen_config_free(config);
}

static void test_refusals(void)
{
	refuse("groups: [{name: a}]\n",
	       "g.yaml:1:1: the peer is missing; name it with 'to: ADDRESS' or --to\n");
	refuse("to: 10.0.0.2\ngroups:\n  - qps: 0\n",
	       "g.yaml:3:10: groups[0].qps: '0' is too small; allowed is 1 to 20000\n");
	refuse("to: 10.0.0.2\ngroups:\n  - verb: write\n    sise: 4\n",
	       "g.yaml:4:5: groups[0]: unknown key 'sise'; did you mean 'size'?\n");
	refuse("to: 10.0.0.2\ngroups:\n  - mix: writ:64\n",
	       "g.yaml:3:10: groups[0].mix: verb 'writ' is unknown; did you mean 'write'?\n");
	refuse("to: 10.0.0.2\ngroups:\n  - size: 9..3\n",
	       "g.yaml:3:11: groups[0].size: a range must not end before it begins\n");
	refuse("to: 10.0.0.2\ngroups:\n  - transport: UC\n    verb: read\n",
	       "g.yaml:4:11: groups[0].verb: UC has no READ and no atomics\n");
	refuse("to: 10.0.0.2\ngroups:\n  - transport: UD\n    verb: write\n    size: 512\n",
	       "g.yaml:4:11: groups[0].verb: UD has SEND only\n");
	refuse("to: 10.0.0.2\ngroups:\n  - transport: UD\n    verb: send\n    size: 5000\n",
	       "g.yaml:5:11: groups[0].size: a UD message is at most one path MTU\n");
	refuse("to: 10.0.0.2\ngroups:\n  - burst: 4\n",
	       "g.yaml:3:12: groups[0].burst: is for a rate; give one, or take it out\n");
	refuse("to: 10.0.0.2\nrate: 10Gb/s\ngroups:\n  - {per: group, aligned: true}\n",
	       "g.yaml:4:11: groups[0].per: is for a rate of the group's own; give one, or take it "
	       "out\n"
	       "g.yaml:4:27: groups[0].aligned: is for a rate of the group's own; give one, or "
	       "take "
	       "it out\n");
	refuse("to: 10.0.0.2\ncounts: line\ngroups:\n  - counts: line\n",
	       "g.yaml:2:9: counts: is for a rate; give one, or take it out\n"
	       "g.yaml:4:13: groups[0].counts: is for a rate of the group's own; give one, or take "
	       "it out\n");
	refuse("to: 10.0.0.2\nrate: 10Gb/s\ngroups:\n  - rate: 1Gb/s\n    ramp_from: 1Mb/s\n",
	       "g.yaml:2:7: rate: has no group to be for, as each has its own; take one out\n"
	       "g.yaml:5:16: groups[0].ramp_from: needs ramp, the time in which the rate grows\n");
	refuse("to: 10.0.0.2\nrate: 10Gb/s\nstreams:\n  - size: 60\n",
	       "g.yaml:2:7: rate: is for groups; give the streams theirs\n");
	refuse("to: 10.0.0.2\ngroups:\n  - rate: 10Gb/s\n    ramp: 1s\n    ramp_from: 5/s\n",
	       "g.yaml:5:16: groups[0].ramp_from: must be in the unit of the rate, 10Gb/s\n");
	refuse("to: 10.0.0.2\ngroups:\n  - qps: 15000\n  - qps: 15000\n",
	       "g.yaml:3:3: groups: have 30000 queue pairs together; at most 20000 are allowed\n");
	refuse("to: 10.0.0.2\n",
	       "g.yaml:1:1: there is nothing to send; list 'groups' or 'streams'\n");
	refuse("streams:\n  - size: 60..99\n",
	       "g.yaml:2:5: streams[0]: the destination is missing; name it with 'to: ADDRESS'\n"
	       "g.yaml:2:11: streams[0].size: a stream's sizes are single ones, as 60*7, 590*4, "
	       "1514\n");
	refuse("streams:\n  - kind: roce\n    to: 10.0.0.2\n",
	       "g.yaml:2:5: streams[0].remote_qpn: is missing; a roce stream needs its peer's "
	       "QPN, or a peer that makes its partners ('peer: control' and 'to: ADDRESS' of the "
	       "whole)\n");
	refuse("to: 10.0.0.2\nstreams:\n  - kind: roce\n    to: 10.0.0.3\n",
	       "g.yaml:4:9: streams[0].to: must be the peer, which is to make the stream's "
	       "partners; or name its 'remote_qpn'\n");
	refuse("to: 10.0.0.2\nstreams:\n  - rkey: 5\n",
	       "g.yaml:3:11: streams[0].rkey: is for kind roce only; take it out\n");
	refuse("to: 10.0.0.2\nduration: 1s\nwarm_up: 1s\ngroups: [{name: a}]\n",
	       "g.yaml:3:10: warm_up: leaves nothing to measure; it must be shorter than the "
	       "duration\n");
}

static void test_times(void)
{
	refuse("to: 10.0.0.2\nduration: 2s\ngroups:\n  - start: 2s\n",
	       "g.yaml:4:12: groups[0].start: the start is at 2s, but the end at 2s; start "
	       "earlier, or run longer\n");
	refuse("to: 10.0.0.2\ngroups:\n  - start: 11s\n",
	       "g.yaml:3:12: groups[0].start: the start is at 11s, but the end at 10s; start "
	       "earlier, or run longer\n");
	refuse("to: 10.0.0.2\ngroups:\n  - {qps: 5, start: 1s, stagger: 1s, duration: 4s}\n",
	       "g.yaml:3:34: groups[0].stagger: the last start is at 5s, but the end at 5s; start "
	       "earlier, or run longer\n");
	refuse("to: 10.0.0.2\nduration: 2s\nstreams:\n  - start: 3s\n",
	       "g.yaml:4:12: streams[0].start: the start is at 3s, but the end at 2s; start "
	       "earlier, or run longer\n");
	refuse("to: 10.0.0.2\nwarm_up: 2s\ngroups:\n  - duration: 2s\n  - qps: 1\n",
	       "g.yaml:4:15: groups[0].duration: is over at 2s, before the warm-up, which ends at "
	       "2s\n");
}

static void refuse_rate(const char *text)
{
	struct gen_rate rate;
	char error[200] = "";

	CU_ASSERT_EQUAL(gen_rate_parse(text, &rate, error, sizeof(error)), -EINVAL);
	CU_ASSERT_TRUE(*error);
}

static void test_rates(void)
{
	struct gen_rate rate;
	char error[200];

	CU_ASSERT_EQUAL(gen_rate_parse("2.5Gb/s", &rate, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(rate.value, UINT64_C(2500000000));
	CU_ASSERT_FALSE(rate.is_messages);
	CU_ASSERT_EQUAL(gen_rate_parse("1000/s", &rate, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(rate.value, 1000);
	CU_ASSERT_TRUE(rate.is_messages);
	CU_ASSERT_EQUAL(gen_rate_parse("12.5%", &rate, error, sizeof(error)), 0);
	CU_ASSERT_DOUBLE_EQUAL(rate.part, 0.125, 1e-12);
	refuse_rate("");
	refuse_rate("0%");
	refuse_rate("101%");
	refuse_rate("0/s");
	refuse_rate("10");
	refuse_rate("ten Gb/s");
}

static const struct test tests[] = {
	{"file", test_file},         {"defaults", test_defaults}, {"settings", test_settings},
	{"refusals", test_refusals}, {"times", test_times},       {"rates", test_rates},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("gen_config", tests, argc, argv);
}
