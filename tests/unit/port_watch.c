/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What is said of links that change while a command runs. */

#include "apps/ports/watch.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static enum vl_port_link links[2];
static struct vl_port ports[2];
static struct vl_port_watch watch;
static char said[1024];

static enum vl_port_link link_of(struct vl_port *port)
{
	return links[port - ports];
}

static void set_up(enum vl_port_link first)
{
	static const struct vl_port_operations operations = {.link = link_of};
	static const struct vl_command command = {.name = "test"};

	links[0] = first;
	links[1] = VL_PORT_LINK_UP;
	vl_port_watch_start(&watch, &command);
	for (int i = 0; i < 2; i++) {
		ports[i] = (struct vl_port){.operations = &operations};
		snprintf(ports[i].name, sizeof(ports[i].name), "port%d", i);
		vl_port_watch_add(&watch, &ports[i]);
	}
}

/* With what it prints in said. */
static bool look(uint64_t now)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	size_t length;
	bool goes_on;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	dup2(fileno(file), STDERR_FILENO);
	goes_on = vl_port_watch_look(&watch, now);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	length = fread(said, 1, sizeof(said) - 1, file);
	said[length] = '\0';
	fclose(file);
	return goes_on;
}

static void test_down_and_up(void)
{
	set_up(VL_PORT_LINK_UP);
	CU_ASSERT_TRUE(look(SECOND));
	CU_ASSERT_STRING_EQUAL(said, "");
	links[1] = VL_PORT_LINK_DOWN;
	CU_ASSERT_TRUE(look(2 * SECOND));
	CU_ASSERT_STRING_EQUAL(said, "verbline test: port port1: the link went down; nothing "
				     "passes until it is up again\n");
	CU_ASSERT_TRUE(look(3 * SECOND));
	CU_ASSERT_STRING_EQUAL(said, "");
	links[1] = VL_PORT_LINK_UP;
	CU_ASSERT_TRUE(look(5 * SECOND));
	CU_ASSERT_STRING_EQUAL(said,
			       "verbline test: port port1: the link is up again, after 3.0 s\n");
	CU_ASSERT_EQUAL(watch.gone, 0);
}

/* One that comes up late was not lost. */
static void test_late(void)
{
	set_up(VL_PORT_LINK_DOWN);
	CU_ASSERT_TRUE(look(SECOND));
	links[0] = VL_PORT_LINK_UP;
	CU_ASSERT_TRUE(look(2 * SECOND));
	CU_ASSERT_STRING_EQUAL(said, "");
}

static void test_gone(void)
{
	set_up(VL_PORT_LINK_UP);
	links[0] = VL_PORT_LINK_GONE;
	CU_ASSERT_TRUE(look(SECOND));
	CU_ASSERT_STRING_EQUAL(said, "verbline test: port port0: the interface was taken away; "
				     "nothing passes any more\n");
	/* Another of that name is not this port's. */
	links[0] = VL_PORT_LINK_UP;
	CU_ASSERT_TRUE(look(2 * SECOND));
	CU_ASSERT_STRING_EQUAL(said, "");
	CU_ASSERT_EQUAL(watch.gone, 1);
	links[1] = VL_PORT_LINK_GONE;
	CU_ASSERT_FALSE(look(3 * SECOND));
	CU_ASSERT_EQUAL(watch.gone, 2);
}

static const struct test tests[] = {
	{"down_and_up", test_down_and_up},
	{"late", test_late},
	{"gone", test_gone},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("port_watch", tests, argc, argv);
}
