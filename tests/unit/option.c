/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/option.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const char *const colours[] = {"red", "green", "blue", NULL};

struct values {
	bool verbose;
	const char *json;
	struct vl_texts sets;
	uint64_t seed;
	unsigned int colour;
	uint64_t rate;
};

static const struct vl_option options[] = {
	{.letter = 'v',
	 .name = "verbose",
	 .help = "Say more",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct values, verbose)},
	{.name = "json",
	 .argument = "FILE",
	 .help = "Write the numbers to FILE",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct values, json)},
	{.name = "set",
	 .argument = "KEY=VALUE",
	 .help = "Override",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct values, sets)},
	{.letter = 's',
	 .name = "seed",
	 .argument = "N",
	 .help = "Seed",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct values, seed),
	 .most = UINT64_MAX},
	{.name = "colour",
	 .argument = "NAME",
	 .help = "Colour",
	 .type = VL_OPTION_CHOICE,
	 .offset = offsetof(struct values, colour),
	 .choices = colours},
	{.name = "rate",
	 .argument = "RATE",
	 .help = "Rate",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct values, rate),
	 .least = 1000,
	 .most = 1000000000,
	 .quantity = VL_QUANTITY_RATE},
};

static const struct vl_command command = {
	.name = "paint",
	.operands = "FILE...",
	.least_operands = 1,
	.most_operands = 2,
	.summary = "Paints",
	.description = "Paints files.",
	.examples = "verbline paint a",
	.options = options,
	.option_count = 6,
	.takes_eal_options = true,
};

static struct values values;
static struct vl_operands operands;
static char error[256];

/* line is split at its spaces. */
static enum vl_options_result parse(const char *line)
{
	static char copy[512], *argv[32];
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	memset(&values, 0, sizeof(values));
	error[0] = '\0';
	return vl_options_parse(&command, argc, argv, &values, &operands, error, sizeof(error));
}

static void refused(const char *line, const char *expected)
{
	CU_ASSERT_EQUAL(parse(line), VL_OPTIONS_ERROR);
	CU_ASSERT_STRING_EQUAL(error, expected);
	if (strcmp(error, expected))
		printf("\n  %s\n    %s\n  not %s\n", line, error, expected);
}

static void test_values(void)
{
	CU_ASSERT_EQUAL(parse("paint a -v --json=out -s 0x10 b --set k=1 --set l=2 --colour blue "
			      "--rate 2.5Mb/s"),
			VL_OPTIONS_OK);
	CU_ASSERT_TRUE(values.verbose);
	CU_ASSERT_STRING_EQUAL(values.json, "out");
	CU_ASSERT_EQUAL(values.seed, 16);
	CU_ASSERT_EQUAL(values.colour, 2);
	CU_ASSERT_EQUAL(values.rate, 2500000);
	CU_ASSERT_EQUAL_FATAL(values.sets.count, 2);
	CU_ASSERT_STRING_EQUAL(values.sets.values[1], "l=2");
	CU_ASSERT_EQUAL_FATAL(operands.count, 2);
	CU_ASSERT_STRING_EQUAL(operands.values[0], "a");
	CU_ASSERT_STRING_EQUAL(operands.values[1], "b");
	CU_ASSERT_EQUAL(operands.eal_count, 0);
}

static void test_eal_options(void)
{
	CU_ASSERT_EQUAL(parse("paint a -- -l 1-3 --no-huge"), VL_OPTIONS_OK);
	CU_ASSERT_EQUAL(operands.count, 1);
	CU_ASSERT_EQUAL_FATAL(operands.eal_count, 3);
	CU_ASSERT_STRING_EQUAL(operands.eal[0], "-l");
	CU_ASSERT_STRING_EQUAL(operands.eal[2], "--no-huge");
}

static void test_help(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_EQUAL(parse("paint --help"), VL_OPTIONS_HELP);
	CU_ASSERT_EQUAL(parse("paint -h"), VL_OPTIONS_HELP);
	vl_options_help(&command, out);
	fclose(out);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "Usage: verbline paint [OPTION...] FILE... [-- EAL-OPTION...]\n"));
	for (unsigned int i = 0; i < command.option_count; i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, options[i].name));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "  -s, --seed N            Seed\n"));
	free(text);
}

static void test_errors(void)
{
	refused("paint", "FILE... is missing: verbline paint [OPTION...] FILE...");
	refused("paint a b c", "unexpected 'c': takes FILE... and nothing more");
	refused("paint a --sead 1", "unknown option '--sead'; did you mean --seed?");
	refused("paint a --zzzzzzzz",
		"unknown option '--zzzzzzzz'; 'verbline paint --help' lists all");
	refused("paint a -z", "unknown option '-z'; 'verbline paint --help' lists all");
	refused("paint a --verbose=1", "--verbose takes no value");
	refused("paint a --json", "--json needs a value: --json FILE");
	refused("paint a -s", "--seed needs a value: --seed N");
	refused("paint a -s x", "--seed: 'x' is not a whole number; write one as 16");
	refused("paint a -s -1", "--seed: '-1' is not a whole number; write one as 16");
	refused("paint a -s 99999999999999999999",
		"--seed: '99999999999999999999' is too large; at most 18446744073709551615");
	refused("paint a --colour rad", "--colour: 'rad' is unknown; choose red, green or blue");
	refused("paint a --rate 5", "--rate: '5' has no unit; write a rate as 100Gb/s, 250Mb/s or "
				    "9600b/s");
	refused("paint a --rate 5m",
		"--rate: 'm' is not a unit of a rate; write a rate as 100Gb/s, "
		"250Mb/s or 9600b/s");
	refused("paint a --rate 1b/s", "--rate: '1b/s' is too small; allowed is 1kb/s to 1Gb/s");
	refused("paint a --rate 1e30Gb/s",
		"--rate: '1e30Gb/s' is too large; allowed is 1kb/s to 1Gb/s");
}

static void quantity(enum vl_quantity kind, const char *text, uint64_t expected)
{
	uint64_t value = 0;

	CU_ASSERT_EQUAL(vl_quantity_parse(kind, text, 0, UINT64_MAX, &value, error, sizeof(error)),
			0);
	CU_ASSERT_EQUAL(value, expected);
}

static void no_quantity(enum vl_quantity kind, const char *text)
{
	uint64_t value = 0;

	CU_ASSERT_NOT_EQUAL(
		vl_quantity_parse(kind, text, 0, INT64_MAX, &value, error, sizeof(error)), 0);
}

static void test_quantities(void)
{
	double part = 0;

	quantity(VL_QUANTITY_RATE, "100Gb/s", UINT64_C(100000000000));
	quantity(VL_QUANTITY_RATE, "2.5 Gbit/s", UINT64_C(2500000000));
	quantity(VL_QUANTITY_RATE, "0", 0);
	quantity(VL_QUANTITY_RUN_TIME, "14", UINT64_C(14000000000));
	quantity(VL_QUANTITY_RUN_TIME, "1.5", UINT64_C(1500000000));
	quantity(VL_QUANTITY_RUN_TIME, "200ms", UINT64_C(200000000));
	no_quantity(VL_QUANTITY_RUN_TIME, "14x");
	quantity(VL_QUANTITY_SIZE, "64KiB", 65536);
	quantity(VL_QUANTITY_SIZE, "64KB", 64000);
	quantity(VL_QUANTITY_DURATION, "10us", 10000);
	quantity(VL_QUANTITY_DURATION, "10\xc2\xb5s", 10000);
	quantity(VL_QUANTITY_DURATION, "1.5ms", 1500000);
	quantity(VL_QUANTITY_DURATION, "1e3ns", 1000);
	quantity(VL_QUANTITY_COUNT, "18446744073709551615", UINT64_MAX);
	no_quantity(VL_QUANTITY_RATE, "nan");
	no_quantity(VL_QUANTITY_RATE, "infGb/s");
	no_quantity(VL_QUANTITY_RATE, "");
	no_quantity(VL_QUANTITY_RATE, "0x10Gb/s");
	no_quantity(VL_QUANTITY_DURATION, "-1s");
	no_quantity(VL_QUANTITY_DURATION, "1e999s");
	no_quantity(VL_QUANTITY_DURATION, "1.s");
	no_quantity(VL_QUANTITY_SIZE, "1GB/s");
	no_quantity(VL_QUANTITY_COUNT, "1.5");
	no_quantity(VL_QUANTITY_COUNT, "0x");
	CU_ASSERT_EQUAL(vl_fraction_parse("5%", 0, 1, &part, error, sizeof(error)), 0);
	CU_ASSERT_DOUBLE_EQUAL(part, 0.05, 1e-12);
	CU_ASSERT_EQUAL(vl_fraction_parse("1e-4", 0, 1, &part, error, sizeof(error)), 0);
	CU_ASSERT_DOUBLE_EQUAL(part, 1e-4, 1e-12);
	CU_ASSERT_NOT_EQUAL(vl_fraction_parse("101%", 0, 1, &part, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(error, "'101%' is too large; allowed is 0% to 100%");
	CU_ASSERT_NOT_EQUAL(vl_fraction_parse("nan", 0, 1, &part, error, sizeof(error)), 0);
}

static void text(enum vl_quantity kind, uint64_t value, const char *expected)
{
	char written[VL_QUANTITY_TEXT];

	CU_ASSERT_STRING_EQUAL(vl_quantity_text(kind, value, written), expected);
}

static void test_quantity_text(void)
{
	text(VL_QUANTITY_RATE, UINT64_C(100000000000), "100Gb/s");
	text(VL_QUANTITY_RATE, UINT64_C(39712345678), "39.7Gb/s");
	text(VL_QUANTITY_SIZE, 65536, "64KiB");
	text(VL_QUANTITY_SIZE, 400000, "400KB");
	text(VL_QUANTITY_DURATION, 1234, "1.23us");
	text(VL_QUANTITY_COUNT, 7, "7");
}

static const struct test tests[] = {
	{"values", test_values},
	{"eal_options", test_eal_options},
	{"help", test_help},
	{"errors", test_errors},
	{"quantities", test_quantities},
	{"quantity_text", test_quantity_text},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("option", tests, argc, argv);
}
