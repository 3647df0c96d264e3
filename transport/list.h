/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Intrusive circular lists. A link outside every list has NULL in next. */
#ifndef VERBLINE_LIST_H
#define VERBLINE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct vl_link {
	struct vl_link *next, *previous;
};

#define VL_CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static inline void vl_list_init(struct vl_link *head)
{
	head->next = head->previous = head;
}

static inline bool vl_list_is_empty(const struct vl_link *head)
{
	return head->next == head;
}

static inline bool vl_link_is_listed(const struct vl_link *link)
{
	return link->next != NULL;
}

static inline void vl_list_append(struct vl_link *head, struct vl_link *link)
{
	link->next = head;
	link->previous = head->previous;
	head->previous->next = link;
	head->previous = link;
}

/* Taking out a link that is in no list does nothing. */
static inline void vl_list_remove(struct vl_link *link)
{
	if (!link->next)
		return;
	link->previous->next = link->next;
	link->next->previous = link->previous;
	link->next = link->previous = NULL;
}

#endif
