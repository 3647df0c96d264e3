/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned int vl_port_next_number(void)
{
	static unsigned int number; /* DPDK's names of devices are one per process too */

	return __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED);
}

uint16_t vl_port_wanted_mtu(const struct vl_port_config *config)
{
	return config->mtu ? config->mtu : VL_PORT_DEFAULT_MTU;
}

uint16_t vl_port_wanted_queues(const struct vl_port_config *config)
{
	return config->queue_count ? config->queue_count : 1;
}

static int unknown_option(const char *name, const char *text, int length,
			  const struct vl_port_option *options, unsigned int option_count,
			  struct vl_error *error)
{
	char known[128] = "none";
	size_t used = 0;

	for (unsigned int i = 0; i < option_count && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s%s",
					 i ? ", " : "", options[i].name,
					 options[i].number ? "=NUMBER" : "");
	return vl_error_set(error, -EINVAL, "port %s: unknown option '%.*s'; it has: %s", name,
			    length, text, known);
}

static int read_option(const char *name, const char *text, size_t length,
		       const struct vl_port_option *options, unsigned int option_count,
		       struct vl_error *error)
{
	size_t name_length = strcspn(text, "=,");

	for (unsigned int i = 0; i < option_count; i++) {
		const struct vl_port_option *option = &options[i];
		unsigned long number;
		char *end;

		if (strlen(option->name) != name_length || strncmp(option->name, text, name_length))
			continue;
		if (option->flag && name_length == length) {
			*option->flag = true;
			return 0;
		}
		if (option->flag)
			return vl_error_set(error, -EINVAL, "port %s: option %s takes no value",
					    name, option->name);
		errno = 0;
		number = name_length < length ? strtoul(text + name_length + 1, &end, 0) : 0;
		if (name_length + 1 >= length || end != text + length || errno ||
		    number < option->least || number > option->most)
			return vl_error_set(error, -EINVAL,
					    "port %s: option %s takes a number from %u to %u", name,
					    option->name, option->least, option->most);
		*option->number = (uint32_t)number;
		return 0;
	}
	return unknown_option(name, text, (int)length, options, option_count, error);
}

int vl_port_name_read(const char *name, const char *detail, unsigned int comma_count,
		      char copy[VL_PORT_DETAIL_LENGTH], const struct vl_port_option *options,
		      unsigned int option_count, struct vl_error *error)
{
	size_t length = strcspn(detail, ",");
	int result = 0;

	while (comma_count-- && detail[length])
		length += 1 + strcspn(detail + length + 1, ",");
	if (!length || length >= VL_PORT_DETAIL_LENGTH)
		return vl_error_set(error, -EINVAL,
				    "port %s: behind the colon are to be 1 to %d characters", name,
				    VL_PORT_DETAIL_LENGTH - 1);
	memcpy(copy, detail, length);
	copy[length] = '\0';
	for (detail += length; *detail && !result; detail += length) {
		detail++;
		length = strcspn(detail, ",");
		result = read_option(name, detail, length, options, option_count, error);
	}
	return result;
}
