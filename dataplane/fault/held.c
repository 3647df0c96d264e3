/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Frames that wait: a fixed number of them, in memory of the engine's own. */

#include "dataplane/fault/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int vl_fault_held_init(struct vl_fault *fault, uint32_t count, uint32_t capacity)
{
	fault->slots = calloc(count, sizeof(*fault->slots));
	fault->memory = calloc(count, capacity);
	if (!fault->slots || !fault->memory)
		return -ENOMEM;
	fault->slot_count = fault->free_count = count;
	for (uint32_t i = count; i-- > 0;) {
		fault->slots[i].frame.data = fault->memory + (size_t)i * capacity;
		fault->slots[i].frame.capacity = capacity;
		fault->slots[i].next = fault->free;
		fault->free = &fault->slots[i];
	}
	return 0;
}

struct vl_fault_slot *vl_fault_slot_get(struct vl_fault *fault)
{
	struct vl_fault_slot *slot = fault->free;

	if (!slot)
		return NULL;
	fault->free = slot->next;
	fault->free_count--;
	slot->comment[0] = 0;
	slot->connection = slot->event = VL_FAULT_NONE;
	slot->connection_number = 0;
	slot->countdown = 0;
	slot->due = 0;
	slot->frame.source_qpn = 0;
	slot->frame.priority = 0;
	return slot;
}

bool vl_fault_can_hold(const struct vl_fault *fault, const struct vl_frame *frame)
{
	return fault->free_count && frame->length <= fault->slots[0].frame.capacity;
}

struct vl_fault_slot *vl_fault_slot_copy(struct vl_fault *fault, const struct vl_frame *frame)
{
	struct vl_fault_slot *slot =
		vl_fault_can_hold(fault, frame) ? vl_fault_slot_get(fault) : NULL;

	if (!slot)
		return NULL;
	memcpy(slot->frame.data, frame->data, frame->length);
	slot->frame.length = frame->length;
	slot->frame.priority = frame->priority;
	slot->frame.source_qpn = frame->source_qpn;
	return slot;
}

void vl_fault_slot_put(struct vl_fault *fault, struct vl_fault_slot *slot)
{
	slot->next = fault->free;
	fault->free = slot;
	fault->free_count++;
}

void vl_fault_slot_belongs(const struct vl_fault *fault, struct vl_fault_slot *slot,
			   const struct vl_fault_connection *connection)
{
	slot->connection = vl_fault_connection_index(fault, connection);
	slot->connection_number = connection ? connection->number : 0;
}

/* NULL: none, or it has given way to another one in its place. */
static struct vl_fault_connection *owner_of(struct vl_fault *fault,
					    const struct vl_fault_slot *slot)
{
	struct vl_fault_connection *connection =
		slot->connection == VL_FAULT_NONE ? NULL
						  : &fault->connections.list[slot->connection];

	return connection && connection->number == slot->connection_number ? connection : NULL;
}

/* Most come with the latest time: the search starts at the end. */
static void insert(struct vl_fault_list *list, struct vl_fault_slot *slot)
{
	struct vl_fault_slot *before = list->last;

	while (before && before->due > slot->due)
		before = before->previous;
	slot->previous = before;
	slot->next = before ? before->next : list->first;
	if (slot->next)
		slot->next->previous = slot;
	else
		list->last = slot;
	if (before)
		before->next = slot;
	else
		list->first = slot;
}

static void take_out(struct vl_fault_list *list, struct vl_fault_slot *slot)
{
	if (slot->previous)
		slot->previous->next = slot->next;
	else
		list->first = slot->next;
	if (slot->next)
		slot->next->previous = slot->previous;
	else
		list->last = slot->previous;
}

void vl_fault_hold(struct vl_fault *fault, enum vl_direction direction, struct vl_fault_slot *slot)
{
	struct vl_fault_list *list = &fault->held[direction];

	insert(list, slot);
	list->reordered += slot->countdown > 0;
}

void vl_fault_release(struct vl_fault *fault, enum vl_direction direction,
		      struct vl_fault_slot *slot)
{
	struct vl_fault_list *list = &fault->held[direction];
	struct vl_fault_connection *connection = owner_of(fault, slot);

	take_out(list, slot);
	list->reordered -= slot->countdown > 0;
	slot->countdown = 0;
	for (unsigned int i = 0; connection && i < 2; i++) {
		if (connection->streams[i].held_refusal == slot)
			connection->streams[i].held_refusal = NULL;
	}
	if (connection && connection->held_ack == slot) {
		connection->held_ack = NULL;
		connection->held_ack_count = 0;
	}
}

void vl_fault_overtake(struct vl_fault *fault, enum vl_direction direction,
		       const struct vl_fault_connection *connection, uint64_t now)
{
	struct vl_fault_list *list = &fault->held[direction];
	struct vl_fault_slot *slot = list->reordered ? list->first : NULL;

	while (slot) {
		struct vl_fault_slot *next = slot->next;

		if (slot->countdown && owner_of(fault, slot) == connection && !--slot->countdown) {
			list->reordered--;
			take_out(list, slot);
			slot->due = now;
			insert(list, slot);
		}
		slot = next;
	}
}
