/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/ports/watch.h"

#define INTERVAL UINT64_C(250000000)

void vl_port_watch_start(struct vl_port_watch *watch, const struct vl_command *command)
{
	*watch = (struct vl_port_watch){.command = command};
}

void vl_port_watch_add(struct vl_port_watch *watch, struct vl_port *port)
{
	if (watch->count == VL_PORT_WATCH_MAX)
		return;
	watch->ports[watch->count] = port;
	watch->links[watch->count++] = vl_port_link(port);
}

static void note_change(struct vl_port_watch *watch, uint32_t i, enum vl_port_link link,
			uint64_t now)
{
	const char *name = watch->ports[i]->name;

	watch->links[i] = link;
	switch (link) {
	case VL_PORT_LINK_UP:
		if (watch->since[i])
			vl_command_error(watch->command,
					 "port %s: the link is up again, after %.1f s", name,
					 (double)(now - watch->since[i]) / 1e9);
		break;
	case VL_PORT_LINK_DOWN:
		watch->since[i] = now;
		vl_command_error(watch->command,
				 "port %s: the link went down; nothing passes until it is up again",
				 name);
		break;
	case VL_PORT_LINK_GONE:
		watch->gone++;
		vl_command_error(watch->command,
				 "port %s: the interface was taken away; nothing passes any more",
				 name);
		break;
	}
}

bool vl_port_watch_look(struct vl_port_watch *watch, uint64_t now)
{
	if (now >= watch->next) {
		watch->next = now + INTERVAL;
		for (uint32_t i = 0; i < watch->count; i++) {
			enum vl_port_link link = watch->links[i] == VL_PORT_LINK_GONE
							 ? VL_PORT_LINK_GONE
							 : vl_port_link(watch->ports[i]);

			if (link != watch->links[i])
				note_change(watch, i, link, now);
		}
	}
	return !watch->count || watch->gone < watch->count;
}
