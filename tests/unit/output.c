/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Files that appear only when they are whole. */

#include "apps/report/output.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/verbline-output-XXXXXX";
static char path[64], partial[80], error[256];

static void set_up(void)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/out", directory);
	snprintf(partial, sizeof(partial), "%s.partial", path);
}

static void tear_down(void)
{
	unlink(path);
	unlink(partial);
	rmdir(directory);
}

static bool exists(const char *name)
{
	return !access(name, F_OK);
}

static void test_commit(void)
{
	struct vl_output output;
	char text[8] = "";
	FILE *file;

	set_up();
	CU_ASSERT_EQUAL_FATAL(vl_output_open(&output, path, error, sizeof(error)), 0);
	fputs("whole", output.file);
	CU_ASSERT_FALSE(exists(path));
	CU_ASSERT_TRUE(exists(partial));
	CU_ASSERT_EQUAL(vl_output_commit(&output, error, sizeof(error)), 0);
	CU_ASSERT_FALSE(exists(partial));
	file = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fread(text, 1, sizeof(text), file), 5);
	fclose(file);
	vl_output_abandon(&output);
	CU_ASSERT_TRUE(exists(path));
	tear_down();
}

/* What was there before stays as it was. */
static void test_abandon(void)
{
	struct vl_output output;
	struct stat before, after;

	set_up();
	CU_ASSERT_EQUAL(vl_output_open(&output, path, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(vl_output_commit(&output, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(stat(path, &before), 0);
	CU_ASSERT_EQUAL(vl_output_open(&output, path, error, sizeof(error)), 0);
	fputs("half", output.file);
	vl_output_abandon(&output);
	CU_ASSERT_FALSE(exists(partial));
	CU_ASSERT_EQUAL(stat(path, &after), 0);
	CU_ASSERT_EQUAL(before.st_ino, after.st_ino);
	CU_ASSERT_EQUAL(after.st_size, 0);
	tear_down();
}

static void test_errors(void)
{
	struct vl_output output;

	CU_ASSERT_EQUAL(vl_output_open(&output, "/does/not/exist", error, sizeof(error)), -ENOENT);
	CU_ASSERT_STRING_EQUAL(error,
			       "/does/not/exist: cannot be written: No such file or directory");
	CU_ASSERT_EQUAL(vl_output_open(&output, "/tmp", error, sizeof(error)), -EISDIR);
	/* A device is written directly, and its failure is found at the latest at the end. */
	CU_ASSERT_EQUAL_FATAL(vl_output_open(&output, "/dev/full", error, sizeof(error)), 0);
	fputs("x", output.file);
	CU_ASSERT_EQUAL(vl_output_commit(&output, error, sizeof(error)), -ENOSPC);
	CU_ASSERT_STRING_EQUAL(error, "/dev/full: cannot be written: No space left on device");
	CU_ASSERT_TRUE(exists("/dev/full"));
	vl_output_abandon(&output);
}

/* The link stays, and the file that it names is the one that is replaced. */
static void test_symbolic_links(void)
{
	struct vl_output output;
	struct stat status;
	char link[80];

	set_up();
	snprintf(link, sizeof(link), "%s/link", directory);
	CU_ASSERT_EQUAL_FATAL(symlink("out", link), 0);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(vl_output_open(&output, link, error, sizeof(error)), 0);
		CU_ASSERT_TRUE(exists(partial));
		fputs("whole", output.file);
		CU_ASSERT_EQUAL(vl_output_commit(&output, error, sizeof(error)), 0);
		CU_ASSERT_EQUAL(lstat(link, &status), 0);
		CU_ASSERT_TRUE(S_ISLNK(status.st_mode));
		CU_ASSERT_EQUAL(lstat(path, &status), 0);
		CU_ASSERT_TRUE(S_ISREG(status.st_mode));
		CU_ASSERT_EQUAL(status.st_size, 5);
	}
	unlink(link);
	CU_ASSERT_EQUAL_FATAL(symlink("link", link), 0);
	CU_ASSERT_EQUAL(vl_output_open(&output, link, error, sizeof(error)), -ELOOP);
	unlink(link);
	tear_down();
}

/* A link to what the standard output goes to, as /dev/stdout is one, is the standard output. */
static void test_link_to_standard_output(void)
{
	struct vl_output output;
	struct stat status;
	char link[80];
	int before;

	set_up();
	snprintf(link, sizeof(link), "%s/link", directory);
	CU_ASSERT_EQUAL_FATAL(symlink("/proc/self/fd/1", link), 0);
	fflush(stdout);
	before = dup(STDOUT_FILENO);
	CU_ASSERT_PTR_NOT_NULL_FATAL(freopen(path, "w", stdout));
	printf("text\n");
	fflush(stdout);
	CU_ASSERT_EQUAL_FATAL(vl_output_open(&output, link, error, sizeof(error)), 0);
	fputs("whole", output.file);
	CU_ASSERT_EQUAL(vl_output_commit(&output, error, sizeof(error)), 0);
	dup2(before, STDOUT_FILENO);
	close(before);
	CU_ASSERT_FALSE(exists(partial));
	CU_ASSERT_EQUAL(lstat(link, &status), 0);
	CU_ASSERT_TRUE(S_ISLNK(status.st_mode));
	CU_ASSERT_EQUAL(stat(path, &status), 0);
	CU_ASSERT_EQUAL(status.st_size, 10);
	unlink(link);
	tear_down();
}

static void test_same(void)
{
	char link[80], other[96];
	FILE *file;

	set_up();
	snprintf(link, sizeof(link), "%s/link", directory);
	snprintf(other, sizeof(other), "%s/./out", directory);
	CU_ASSERT_EQUAL_FATAL(symlink("out", link), 0);
	/* Before the file is there, and when it is. */
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_TRUE(vl_output_is_same(path, path));
		CU_ASSERT_TRUE(vl_output_is_same(path, other));
		CU_ASSERT_TRUE(vl_output_is_same(link, path));
		CU_ASSERT_TRUE(vl_output_is_same(other, link));
		CU_ASSERT_FALSE(vl_output_is_same(path, partial));
		CU_ASSERT_FALSE(vl_output_is_same(path, "-"));
		CU_ASSERT_FALSE(vl_output_is_same(path, NULL));
		file = fopen(path, "w");
		CU_ASSERT_PTR_NOT_NULL_FATAL(file);
		fclose(file);
	}
	CU_ASSERT_FALSE(vl_output_is_same("/dev/null", "/dev/null"));
	CU_ASSERT_FALSE(vl_output_is_same("/does/not/exist", "/does/not/./exist"));
	unlink(link);
	tear_down();
}

static const struct test tests[] = {
	{"commit", test_commit},
	{"abandon", test_abandon},
	{"errors", test_errors},
	{"symbolic_links", test_symbolic_links},
	{"link_to_standard_output", test_link_to_standard_output},
	{"same", test_same},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("output", tests, argc, argv);
}
