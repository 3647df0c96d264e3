/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/object/object.h"

#include <errno.h>

#define FANOUT     256
#define NODE_BYTES (FANOUT * sizeof(void *))

static void **child(void **node, uint32_t index, const struct vl_allocator *allocator)
{
	if (!node[index])
		node[index] = allocator->allocate(allocator->context, NODE_BYTES);
	return node[index];
}

/* Nodes made before a failure stay for the next insertion; vl_table_release finds them. */
int vl_table_insert(struct vl_table *table, const struct vl_allocator *allocator, uint32_t number,
		    void *value)
{
	void **middle, **leaf;

	if (vl_table_find(table, number))
		return -EEXIST;
	if (!table->root)
		table->root = allocator->allocate(allocator->context, NODE_BYTES);
	if (!table->root)
		return -ENOMEM;
	middle = child(table->root, number >> 16, allocator);
	leaf = middle ? child(middle, number >> 8 & 0xff, allocator) : NULL;
	if (!leaf)
		return -ENOMEM;
	leaf[number & 0xff] = value;
	table->count++;
	return 0;
}

void vl_table_remove(struct vl_table *table, uint32_t number)
{
	void ***middle;

	if (!vl_table_find(table, number))
		return;
	middle = table->root[number >> 16];
	middle[number >> 8 & 0xff][number & 0xff] = NULL;
	if (table->recent[number % VL_TABLE_RECENT].number == number)
		table->recent[number % VL_TABLE_RECENT].value = NULL;
	table->count--;
}

void vl_table_release(struct vl_table *table, const struct vl_allocator *allocator)
{
	if (!table->root)
		return;
	for (uint32_t i = 0; i < FANOUT; i++) {
		void **middle = table->root[i];

		if (!middle)
			continue;
		for (uint32_t j = 0; j < FANOUT; j++) {
			if (middle[j])
				allocator->release(allocator->context, middle[j], NODE_BYTES);
		}
		allocator->release(allocator->context, middle, NODE_BYTES);
	}
	allocator->release(allocator->context, table->root, NODE_BYTES);
	table->root = NULL;
	table->count = 0;
}
