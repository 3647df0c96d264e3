/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/histogram.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct vl_histogram histogram, other;

static void test_empty(void)
{
	memset(&histogram, 0, sizeof(histogram));
	CU_ASSERT_EQUAL(vl_histogram_percentile(&histogram, 0.5), 0);
	CU_ASSERT_EQUAL(vl_histogram_mean(&histogram), 0);
	CU_ASSERT_EQUAL(vl_histogram_deviation(&histogram), 0);
}

/* What a peer may send must not lead a search for a percentile out of the slots. */
static void test_adopt(void)
{
	memset(&histogram, 0, sizeof(histogram));
	histogram.count = 5;
	histogram.least = UINT64_MAX;
	CU_ASSERT_TRUE(vl_histogram_adopt(&histogram));
	CU_ASSERT_EQUAL(histogram.count, 0);

	vl_histogram_record(&histogram, 1001);
	vl_histogram_record(&histogram, 5);
	vl_histogram_record(&histogram, 70001);
	other = histogram;
	CU_ASSERT_TRUE(vl_histogram_adopt(&other));
	CU_ASSERT_EQUAL(memcmp(&other, &histogram, sizeof(other)), 0);
	other.count = UINT64_MAX;
	other.least = UINT64_MAX;
	other.most = 0;
	CU_ASSERT_TRUE(vl_histogram_adopt(&other));
	CU_ASSERT_EQUAL(other.count, 3);
	CU_ASSERT_EQUAL(other.least, 5);
	CU_ASSERT_EQUAL(vl_histogram_percentile(&other, 0.5),
			vl_histogram_percentile(&histogram, 0.5));
	CU_ASSERT_TRUE(other.most >= 70001 - 70001 / 128 && other.most <= 70001);

	other.slots[5] = UINT64_MAX;
	CU_ASSERT_FALSE(vl_histogram_adopt(&other));
	other = histogram;
	other.sum = NAN;
	CU_ASSERT_FALSE(vl_histogram_adopt(&other));
}

/* Small values are exact. */
static void test_small_values(void)
{
	memset(&histogram, 0, sizeof(histogram));
	for (uint64_t value = 1; value <= 100; value++)
		vl_histogram_record(&histogram, value);
	CU_ASSERT_EQUAL(vl_histogram_percentile(&histogram, 0), 1);
	CU_ASSERT_EQUAL(vl_histogram_percentile(&histogram, 0.5), 50);
	CU_ASSERT_EQUAL(vl_histogram_percentile(&histogram, 0.501), 51);
	CU_ASSERT_EQUAL(vl_histogram_percentile(&histogram, 0.99), 99);
	CU_ASSERT_EQUAL(vl_histogram_percentile(&histogram, 1), 100);
	CU_ASSERT_DOUBLE_EQUAL(vl_histogram_mean(&histogram), 50.5, 1e-9);
	/* of 1..n: (n^2 - 1) / 12 */
	CU_ASSERT_DOUBLE_EQUAL(vl_histogram_deviation(&histogram), 28.8660700, 1e-6);
}

/* One value at a time over the whole range: reported within 1/128 above, never below. */
static void test_error_bound(void)
{
	struct vl_random random = {7};
	uint64_t value, reported;

	for (int i = 0; i < 2000; i++) {
		value = vl_random_next(&random) >> (i % 64);
		memset(&histogram, 0, sizeof(histogram));
		vl_histogram_record(&histogram, value);
		vl_histogram_record(&histogram, UINT64_MAX);
		reported = vl_histogram_percentile(&histogram, 0.5);
		CU_ASSERT_TRUE(reported >= value);
		CU_ASSERT_TRUE(reported - value <= value / 128);
	}
	CU_ASSERT_EQUAL(vl_histogram_percentile(&histogram, 1), UINT64_MAX);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Percentiles of random values against the sorted values. */
static void test_percentiles(void)
{
	static uint64_t values[10000];
	static const double parts[] = {0.1, 0.5, 0.9, 0.99, 0.999, 0.9999};
	struct vl_random random = {1};
	uint64_t exact, reported;

	memset(&histogram, 0, sizeof(histogram));
	for (int i = 0; i < 10000; i++) {
		values[i] = vl_random_below(&random, UINT64_C(1) << (10 + i % 30));
		vl_histogram_record(&histogram, values[i]);
	}
	qsort(values, 10000, sizeof(values[0]), compare);
	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		exact = values[(int)(parts[i] * 10000 + 0.5) - 1];
		reported = vl_histogram_percentile(&histogram, parts[i]);
		CU_ASSERT_TRUE(reported >= exact);
		CU_ASSERT_TRUE((double)reported <= (double)exact * (1 + 1.0 / 128));
	}
}

static void test_add(void)
{
	memset(&histogram, 0, sizeof(histogram));
	memset(&other, 0, sizeof(other));
	vl_histogram_add(&histogram, &other);
	CU_ASSERT_EQUAL(histogram.count, 0);
	vl_histogram_record(&other, 5);
	vl_histogram_add(&histogram, &other);
	CU_ASSERT_EQUAL(histogram.least, 5);
	vl_histogram_record(&histogram, 1000);
	vl_histogram_add(&histogram, &other);
	CU_ASSERT_EQUAL(histogram.count, 3);
	CU_ASSERT_EQUAL(histogram.most, 1000);
	CU_ASSERT_EQUAL(vl_histogram_percentile(&histogram, 0.5), 5);
	CU_ASSERT_DOUBLE_EQUAL(vl_histogram_mean(&histogram), 1010 / 3.0, 1e-9);
}

/* The text is read back: percentiles never fall, counts end at the total. */
static void test_write(void)
{
	char *text = NULL, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	double value, part, previous = 0, last = 0;
	unsigned long long count, total = 0;
	unsigned int lines = 0;

	memset(&histogram, 0, sizeof(histogram));
	for (uint64_t i = 1; i <= 1000; i++)
		vl_histogram_record(&histogram, i * 1000);
	CU_ASSERT_EQUAL(vl_histogram_write(&histogram, 1000, out), 0);
	fclose(out);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Value     Percentile TotalCount 1/(1-Percentile)"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "#[Max     =     1000.000, Total count    =         1000]"));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "%lf %lf %llu", &value, &part, &count) != 3)
			continue;
		CU_ASSERT_TRUE(value >= last && part >= previous && count >= total);
		CU_ASSERT_TRUE(value >= part * 1000 - 1e-6 &&
			       value <= (double)count * (1 + 1.0 / 128));
		previous = part;
		last = value;
		total = count;
		lines++;
	}
	CU_ASSERT_EQUAL(total, 1000);
	CU_ASSERT_EQUAL(previous, 1);
	CU_ASSERT_TRUE(lines > 30);
	free(text);
}

static const struct test tests[] = {
	{"empty", test_empty},
	{"adopt", test_adopt},
	{"small_values", test_small_values},
	{"error_bound", test_error_bound},
	{"percentiles", test_percentiles},
	{"add", test_add},
	{"write", test_write},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("histogram", tests, argc, argv);
}
