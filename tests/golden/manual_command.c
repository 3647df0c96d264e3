/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The manual pages, as groff sees them, and the completion, as bash runs it. */

#include "tests/support/command.h"

#include <stdio.h>
#include <string.h>

/* Of the build's own files: what is installed. */
#define BUILT    "$(dirname \"$V\")"
#define COMMANDS "$($V --help | sed -n '/^Commands/,/^$/s/^  \\([a-z]*\\).*/\\1/p')"

static void test_every_command_has_a_page(void)
{
	expect("cd " BUILT " && for c in " COMMANDS "; do "
	       "grep -q \"verbline.-$c .- \" man1/verbline-$c.1 || echo lacks $c; "
	       "grep -q \"verbline.-$c\" man1/verbline.1 || echo unlisted $c; done; echo done",
	       0, "done");
	CU_ASSERT_STRING_EQUAL(output, "done\n");
}

static void test_pages_are_without_warnings(void)
{
	if (run("command -v groff")) {
		skip_test("groff is not installed");
		return;
	}
	expect("for p in " BUILT "/man1/*.1; do groff -man -Tutf8 -ww -z $p; done; echo done", 0,
	       "done");
	CU_ASSERT_STRING_EQUAL(output, "done\n");
}

/* What --help says stands in the page, word for word. */
static void test_pages_say_what_help_says(void)
{
	if (run("command -v groff")) {
		skip_test("groff is not installed");
		return;
	}
	expect("export LC_ALL=C; for c in " COMMANDS "; do "
	       "groff -man -Tascii -P-cbou -rHY=0 -rLL=2000n " BUILT "/man1/verbline-$c.1 | "
	       "tr -s ' \n' '\n\n' | sort -u > page; "
	       "$V $c --help | sed '1d;/^Options:$/d;/^Examples:$/d;s/^\\([A-Z].*\\):$/\\1/' | tr "
	       "-s ' \n' '\n\n' | "
	       "grep -v '[^ -~]' | grep . | sort -u > help; comm -13 page help; done",
	       0, "");
	CU_ASSERT_STRING_EQUAL(output, "");
}

/* What several commands have comes behind what is the command's own, under a heading. */
static void test_headings(void)
{
	expect("$V endpoint --help | grep -A1 '^[A-Z].*:$' | grep -v '^--$' | cut -c1-30", 0,
	       "Options:\n"
	       "      --service NAME      Serv\n"
	       "Ports, addresses, workers:\n"
	       "      --port PORT         Port\n"
	       "Outputs and resources:\n");
}

/* complete WORDS...: what bash offers for the last of them. */
#define COMPLETE(words, index)                                                                     \
	"bash -c 'compopt() { :; }; . \"$0\"; COMP_WORDS=(verbline " words ") COMP_CWORD=" index   \
	"; _verbline; printf \"%s\\n\" \"${COMPREPLY[@]}\"' " BUILT "/verbline.bash"

static void expect_completion(const char *command, const char *words)
{
	CU_ASSERT_EQUAL(run(command), 0);
	CU_ASSERT_STRING_EQUAL(output, words);
	if (strcmp(output, words))
		printf("%s\noffers:\n%sinstead of:\n%s\n", command, output, words);
}

static void test_completion(void)
{
	expect_completion("bash -n " BUILT "/verbline.bash", "");
	expect_completion(COMPLETE("insp", "1"), "inspect\n");
	expect_completion(COMPLETE("--v", "1"), "--version\n");
	expect_completion(COMPLETE("lab --pcap-f", "2"), "--pcap-from\n");
	expect_completion(COMPLETE("replay --role re", "3"), "responder\nrequester\n");
	expect_completion(COMPLETE("replay -r b", "3"), "both\n");
	expect_completion(COMPLETE("replay --role = b", "4"), "both\n");
	expect_completion(COMPLETE("replay --role =", "3"), "both\nresponder\nrequester\n");
	expect_completion(": > some-file; " COMPLETE("replay --json some", "3"), "some-file\n");
	expect_completion(COMPLETE("replay --json = some", "4"), "some-file\n");
	expect_completion(COMPLETE("inspect some", "2"), "some-file\n");
	expect_completion(COMPLETE("lab --seed so", "3"), "\n");
	expect_completion(COMPLETE("lab x -- --l", "4"), "\n");
	expect_completion(COMPLETE("nonsense --l", "2"), "\n");
}

static void test_completion_of_ports(void)
{
#define PORTS(arguments)                                                                           \
	"bash -c 'compopt() { :; }; . \"$0\"; _verbline_ports " arguments                          \
	"; printf \"%s\\n\" \"${COMPREPLY[@]}\"' " BUILT "/verbline.bash"
	expect_completion(PORTS("af_ --port gen"), "af_packet:\naf_xdp:\n");
	expect_completion(PORTS("l : af_packet"), "lo\n");
	expect_completion(": > in.pcap; " PORTS("in : pcap"), "in.pcap\n");
#undef PORTS
}

static void test_refusals(void)
{
	expect_line("$V --generate", 2, "man DIRECTORY");
	expect_line("$V --generate man /nonexistent/x", 1, "/nonexistent/x: No such file");
	expect_line("$V --generate completion /nonexistent x", 1, "/nonexistent: No such file");
	expect_line(": > y; $V --generate completion y /dev/full", 1, "/dev/full: ");
}

static const struct test tests[] = {
	{"every_command_has_a_page", test_every_command_has_a_page},
	{"pages_are_without_warnings", test_pages_are_without_warnings},
	{"pages_say_what_help_says", test_pages_say_what_help_says},
	{"headings", test_headings},
	{"completion", test_completion},
	{"completion_of_ports", test_completion_of_ports},
	{"refusals", test_refusals},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("manual_command", NULL, tests, argc, argv);
}
