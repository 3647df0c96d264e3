/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * main() of a fuzz target where libFuzzer is not linked: runs the target over every file of the
 * directories (or over the files) named, over cheap seeded mutations of each, and over short random
 * inputs. Needs no compiler support, so every build runs it as a test; the search for new inputs is
 * libFuzzer's.
 */
#include "transport/random.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LARGEST_INPUT        (1u << 20)
#define MUTATIONS_PER_INPUT  64
#define RANDOM_INPUTS        2000
#define LARGEST_RANDOM_INPUT 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vl_random source = {.state = 1};
static unsigned long runs;

/* The copy is of exactly the input's size, so that a sanitizer sees the first byte read beyond. */
static int run_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy) {
		fprintf(stderr, "out of memory for an input of %zu bytes\n", size);
		return -1;
	}
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	runs++;
	return 0;
}

/* Flips a bit, sets a byte or a big-endian word to a bound, copies a piece, or cuts. */
static size_t mutate(uint8_t *data, size_t size)
{
	static const uint8_t bounds[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
	size_t at = vl_random_below(&source, size);
	size_t from = vl_random_below(&source, size);
	size_t length = size - (at > from ? at : from);

	switch (vl_random_below(&source, 5)) {
	case 0:
		data[at] ^= 1u << vl_random_below(&source, 8);
		break;
	case 1:
		data[at] = bounds[vl_random_below(&source, sizeof(bounds))];
		break;
	case 2:
		memset(data + at, bounds[vl_random_below(&source, sizeof(bounds))],
		       length < 4 ? length : 4);
		break;
	case 3:
		memmove(data + at, data + from, vl_random_below(&source, length + 1));
		break;
	default:
		return at;
	}
	return size;
}

static int run_input(const char *path)
{
	static uint8_t input[LARGEST_INPUT], mutated[LARGEST_INPUT];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	size = fread(input, 1, sizeof(input), file);
	fclose(file);
	if (run_one(input, size))
		return -1;
	for (unsigned int i = 0; size && i < MUTATIONS_PER_INPUT; i++) {
		size_t mutated_size = size;

		memcpy(mutated, input, size);
		for (uint64_t n = vl_random_below(&source, 4) + 1; n && mutated_size; n--)
			mutated_size = mutate(mutated, mutated_size);
		if (run_one(mutated, mutated_size))
			return -1;
	}
	return 0;
}

static int run_path(const char *path)
{
	struct dirent **entries;
	struct stat status;
	int count, result = 0;

	if (stat(path, &status)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(status.st_mode))
		return run_input(path);
	count = scandir(path, &entries, NULL, alphasort);
	if (count < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	for (int i = 0; i < count; i++) {
		char name[4096];

		if (entries[i]->d_name[0] != '.' && !result) {
			snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
			result = run_path(name);
		}
		free(entries[i]);
	}
	free(entries);
	return result;
}

int main(int argc, char **argv)
{
	uint8_t input[LARGEST_RANDOM_INPUT];

	for (int i = 1; i < argc; i++) {
		if (run_path(argv[i]))
			return 1;
	}
	for (unsigned int i = 0; i < RANDOM_INPUTS; i++) {
		size_t size = vl_random_below(&source, sizeof(input) + 1);

		for (size_t at = 0; at < size; at++)
			input[at] = (uint8_t)vl_random_next(&source);
		if (run_one(input, size))
			return 1;
	}
	printf("%lu inputs\n", runs);
	return 0;
}
