/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What was done to a frame, in words, for whoever looks at the endpoint's frames. */

#include "dataplane/fault/private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vl_fault_comment_clear(struct vl_fault *fault)
{
	fault->comment[0] = 0;
	fault->comment_length = 0;
}

void vl_fault_comment_add(struct vl_fault *fault, const char *format, ...)
{
	uint32_t room = VL_FAULT_COMMENT - fault->comment_length;
	va_list arguments;
	int length;

	if (!vl_fault_is_watched(fault) || room < 4)
		return;
	if (fault->comment_length) {
		memcpy(fault->comment + fault->comment_length, "; ", 3);
		fault->comment_length += 2;
		room -= 2;
	}
	va_start(arguments, format);
	length = vsnprintf(fault->comment + fault->comment_length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		fault->comment_length += (uint32_t)length < room ? (uint32_t)length : room - 1;
}

void vl_fault_comment_prefix(struct vl_fault *fault, const char *prefix)
{
	uint32_t length = (uint32_t)strlen(prefix);

	if (!vl_fault_is_watched(fault))
		return;
	if (fault->comment_length > VL_FAULT_COMMENT - 1 - length)
		fault->comment_length = VL_FAULT_COMMENT - 1 - length;
	memmove(fault->comment + length, fault->comment, fault->comment_length);
	memcpy(fault->comment, prefix, length);
	fault->comment_length += length;
	fault->comment[fault->comment_length] = 0;
}

void vl_fault_comment_keep(const struct vl_fault *fault, struct vl_fault_slot *slot)
{
	snprintf(slot->comment, sizeof(slot->comment), "%.*s", (int)fault->comment_length,
		 fault->comment);
}

const char *vl_fault_event_text(const struct vl_fault *fault, uint32_t event,
				char text[VL_FAULT_EVENT_TEXT])
{
	const struct vl_fault_event *of;

	if (event == VL_FAULT_NONE)
		return "the policy";
	of = vl_fault_event_at(fault, event);
	if (of->place)
		snprintf(text, VL_FAULT_EVENT_TEXT, "event '%.60s' (%.80s)", of->name, of->place);
	else
		snprintf(text, VL_FAULT_EVENT_TEXT, "event '%.60s'", of->name);
	return text;
}

void vl_fault_show(struct vl_fault *fault, enum vl_direction direction,
		   const struct vl_frame *frame, uint64_t now)
{
	if (vl_fault_is_watched(fault))
		fault->config.tap->see(fault->config.tap->context, direction, frame, now,
				       fault->comment_length ? fault->comment : NULL);
}
