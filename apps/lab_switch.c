/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_switch.h"

#include "apps/sonic/config_db.h"
#include "dataplane/fabric/headroom.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PORTS    9u /* eight senders and a receiver */
#define DEFAULT_CABLE 5u /* m */
#define ROCE_HEADERS  64u

static bool is_usable(const struct vl_db_port *port)
{
	return !port->is_internal && port->speed != VL_DB_UNSET && port->speed >= 1000000000;
}

/* The speed that most ports with PFC have; without PFC, that most ports have. */
static uint64_t common_speed(const struct vl_config_db *db)
{
	unsigned int best = 0, count;
	uint64_t speed = 0;

	for (unsigned int i = 0; i < db->port_count; i++) {
		count = 0;
		for (unsigned int j = 0; j < db->port_count && is_usable(&db->ports[i]); j++) {
			if (db->ports[j].speed == db->ports[i].speed && is_usable(&db->ports[j]))
				count += db->ports[j].pfc ? VL_DB_MAX_PORTS : 1;
		}
		if (count > best) {
			best = count;
			speed = db->ports[i].speed;
		}
	}
	return speed;
}

static unsigned int lowest_priority(const struct vl_db_port *port)
{
	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		if (port->pfc & 1u << n)
			return n;
	}
	return 3;
}

/* The largest path MTU that the ports' MTU lets pass. */
static unsigned int path_mtu(const struct vl_db_port *port)
{
	uint64_t mtu = port->mtu == VL_DB_UNSET ? 9100 : port->mtu;
	unsigned int path = 4096;

	while (path > 256 && path + ROCE_HEADERS > mtu)
		path /= 2;
	return path;
}

static void print_links(FILE *out, const struct vl_db_port *const *ports, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		uint64_t cable = ports[i]->cable == VL_DB_UNSET ? DEFAULT_CABLE : ports[i]->cable;
		char name[24] = "receiver";

		if (i + 1 < count)
			snprintf(name, sizeof(name), count > 2 ? "sender%u" : "sender", i + 1);
		fprintf(out, "  - {from: %s, to: switch, rate: %lluMb/s, delay: %.0fns}\n", name,
			(unsigned long long)(ports[i]->speed / 1000000),
			vl_headroom_propagation((double)cable));
	}
}

static void print_scenario(FILE *out, const char *path, const struct vl_db_port *const *ports,
			   unsigned int count)
{
	fprintf(out, "name: switch-config\nteaches: hosts at ");
	for (unsigned int i = 0; i + 1 < count; i++)
		fprintf(out, "%s%s", i ? ", " : "", ports[i]->name);
	fprintf(out,
		" send to one at %s, over the switch as it is configured\n"
		"duration: 10ms\nwarm_up: 2ms\npath_mtu: %u\n"
		"endpoints:\n  - {name: sender, count: %u}\n  - {name: receiver}\n"
		"switches:\n  - name: switch\n    config_db: '",
		ports[count - 1]->name, path_mtu(ports[0]), count - 1);
	for (; *path; path++) {
		if (*path == '\'')
			fputc('\'', out);
		fputc(*path, out);
	}
	fprintf(out, "'\nlinks:\n");
	print_links(out, ports, count);
	fprintf(out,
		"flows:\n  - {name: incast, from: sender, to: receiver, size: 1MiB, depth: 8, "
		"priority: %u}\n",
		lowest_priority(ports[0]));
}

/* Names that YAML could take for something else are not SONiC's. */
static bool is_plain(const char *name)
{
	return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
				 "/")] == '\0';
}

char *vl_lab_switch_scenario(const char *path, char *error, size_t error_size)
{
	struct vl_config_db *db = vl_config_db_read(path, error, error_size);
	const struct vl_db_port *ports[MOST_PORTS];
	unsigned int count = 0;
	char *text = NULL;
	size_t length;
	uint64_t speed;
	FILE *out;

	if (!db)
		return NULL;
	speed = common_speed(db);
	for (unsigned int i = 0; i < db->port_count && count < MOST_PORTS; i++) {
		if (is_usable(&db->ports[i]) && db->ports[i].speed == speed &&
		    is_plain(db->ports[i].name))
			ports[count++] = &db->ports[i];
	}
	if (count < 2)
		snprintf(error, error_size,
			 "fewer than two ports of one speed, so that none can send to the other");
	out = count < 2 ? NULL : open_memstream(&text, &length);
	if (out) {
		print_scenario(out, path, ports, count);
		if (fclose(out)) {
			free(text);
			text = NULL;
		}
	}
	if (count >= 2 && !text)
		snprintf(error, error_size, "out of memory");
	vl_config_db_free(db);
	return text;
}
