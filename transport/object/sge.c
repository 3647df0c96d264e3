/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Walking the scatter/gather elements of work requests. Keys are checked at each packet and not
 * at the post: a region may go in between. */

#include "transport/object/internal.h"

#include <errno.h>
#include <string.h>

/* Moves the cursor to position. False: the elements end before. */
static bool seek(struct vl_sge_cursor *cursor, const struct ibv_sge *sges, uint32_t sge_count,
		 uint32_t position)
{
	uint32_t ahead;

	if (position < cursor->position)
		*cursor = (struct vl_sge_cursor){0};
	ahead = position - cursor->position;
	while (ahead) {
		uint32_t left;

		if (cursor->sge >= sge_count)
			return false;
		left = sges[cursor->sge].length - cursor->offset;
		if (ahead < left) {
			cursor->offset += ahead;
			break;
		}
		ahead -= left;
		cursor->sge++;
		cursor->offset = 0;
	}
	cursor->position = position;
	return true;
}

/* Takes up to wanted bytes of the element that the cursor stands in; 0 at the end of it. */
static uint32_t advance(struct vl_sge_cursor *cursor, const struct ibv_sge *sge, uint32_t wanted)
{
	uint32_t left = sge->length - cursor->offset;

	if (wanted < left) {
		cursor->offset += wanted;
		cursor->position += wanted;
		return wanted;
	}
	cursor->sge++;
	cursor->offset = 0;
	cursor->position += left;
	return left;
}

static bool append_span(struct vl_outgoing *outgoing, const uint8_t *data, uint32_t length)
{
	if (!data || outgoing->span_count >= VL_MAX_SGE)
		return false;
	outgoing->spans[outgoing->span_count++] = (struct vl_span){.data = data, .length = length};
	outgoing->payload_length += length;
	return true;
}

int vl_gather(const struct vl_qp *qp, const struct vl_send *send, struct vl_sge_cursor *cursor,
	      uint32_t position, uint32_t length, struct vl_outgoing *outgoing)
{
	struct vl_sge_cursor at;

	outgoing->span_count = 0;
	outgoing->payload_length = 0;
	if (!length)
		return 0;
	if (send->is_inline) {
		if (position > send->length || length > send->length - position)
			return -EFAULT;
		append_span(outgoing, (const uint8_t *)send->sges + position, length);
		return 0;
	}
	if (!seek(cursor, send->sges, send->sge_count, position))
		return -EFAULT;
	at = *cursor;
	while (length) {
		const struct ibv_sge *sge;
		uint64_t address;
		uint32_t taken;

		if (at.sge >= send->sge_count)
			return -EFAULT;
		sge = &send->sges[at.sge];
		address = sge->addr + at.offset;
		taken = advance(&at, sge, length);
		if (taken &&
		    !append_span(outgoing,
				 vl_mr_translate_local(qp->pd, sge->lkey, address, taken, 0),
				 taken))
			return -EFAULT;
		length -= taken;
	}
	*cursor = at;
	return 0;
}

int vl_scatter(const struct vl_pd *pd, const struct ibv_sge *sges, uint32_t sge_count,
	       struct vl_sge_cursor *cursor, uint32_t position, const uint8_t *data,
	       uint32_t length)
{
	struct vl_span targets[VL_MAX_SGE];
	struct vl_sge_cursor at;
	uint32_t count = 0;

	if (!length)
		return 0;
	if (!seek(cursor, sges, sge_count, position))
		return -EMSGSIZE;
	at = *cursor;
	for (uint32_t left = length; left;) {
		const struct ibv_sge *sge;
		uint64_t address;
		uint32_t taken;

		if (at.sge >= sge_count || count >= VL_MAX_SGE)
			return -EMSGSIZE;
		sge = &sges[at.sge];
		address = sge->addr + at.offset;
		taken = advance(&at, sge, left);
		if (!taken)
			continue;
		targets[count].data = vl_mr_translate_local(pd, sge->lkey, address, taken,
							    IBV_ACCESS_LOCAL_WRITE);
		targets[count].length = taken;
		if (!targets[count].data)
			return -EFAULT;
		count++;
		left -= taken;
	}
	for (uint32_t i = 0; i < count; i++) {
		memcpy((uint8_t *)targets[i].data, data, targets[i].length);
		data += targets[i].length;
	}
	*cursor = at;
	return 0;
}
