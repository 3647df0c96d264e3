/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/unit/inspect_traffic.h"

#include "apps/inspect/verdict.h"
#include "tests/support/suite.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"
#include "transport/wire/vcrc.h"

#include <string.h>

struct inspect_analysis *analysis;
uint64_t now;

static void set_address(union ibv_gid *gid, enum vl_encapsulation encapsulation, char host)
{
	memset(gid, 0, sizeof(*gid));
	if (encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4) {
		memset(gid->raw + 10, 0xff, 2);
		gid->raw[12] = 10;
	} else {
		gid->raw[0] = 0xfd;
	}
	gid->raw[15] = (uint8_t)host;
}

static uint32_t write_extensions(uint8_t *at, uint32_t flags, const struct variant *variant)
{
	uint8_t *start = at;

	if (flags & VL_OPCODE_DETH)
		at += vl_deth_write(at, 0x11111111, variant->source_qpn);
	if (flags & VL_OPCODE_RETH)
		at += vl_reth_write(at, 0x1000, 0x77, variant->dma_length);
	if (flags & VL_OPCODE_ATOMICETH)
		at += vl_atomic_eth_write(at, 0x1000, 0x77, 1, 2);
	if (flags & VL_OPCODE_AETH)
		at += vl_aeth_write(at, variant->syndrome ? variant->syndrome : ACK, 1);
	if (flags & VL_OPCODE_ATOMICACKETH)
		at += vl_atomic_ack_write(at, 3);
	return (uint32_t)(at - start);
}

static uint32_t write_frame(uint8_t *frame, char from, uint8_t opcode, uint32_t psn,
			    const struct variant *variant)
{
	struct vl_path_attr attr = {
		.encapsulation = variant->encapsulation,
		.source_mac = {2, 0, 0, 0, 0, (uint8_t)from},
		.destination_mac = {2, 0, 0, 0, 0, (uint8_t)(from ^ 'A' ^ 'B')},
		.vlan_present = variant->vlan,
		.vlan_id = variant->vlan ? 100 : 0,
		.priority = variant->priority,
		.source_lid = (uint16_t)from,
		.destination_lid = (uint16_t)(from ^ 'A' ^ 'B'),
		.traffic_class = variant->traffic_class,
		.udp_source_port = variant->udp_source_port ? variant->udp_source_port : 50000,
	};
	uint32_t flags = vl_opcode_table[opcode].flags;
	uint8_t pad = vl_pad_count(variant->length);
	bool infiniband = variant->encapsulation >= VL_ENCAPSULATION_IB_LOCAL;
	uint32_t qpn = variant->qpn ? variant->qpn : from == 'A' ? QPN_B : QPN_A;
	uint32_t length, bth;
	struct vl_packet packet;
	struct vl_path path;
	uint32_t icrc;

	set_address(&attr.source_gid, variant->encapsulation, from);
	set_address(&attr.destination_gid, variant->encapsulation, (char)(from ^ 'A' ^ 'B'));
	CU_ASSERT_EQUAL_FATAL(vl_path_init(&path, &attr), 0);
	length = 12 + vl_opcode_table[opcode].extension_length + variant->length + pad;
	bth = vl_path_write(&path, frame, length);
	vl_bth_write(frame + bth, opcode, false, true, pad, 0xffff, qpn, false, psn,
		     flags & VL_OPCODE_NOTIFICATION);
	write_extensions(frame + bth + 12, flags, variant);
	length += bth + 4;
	CU_ASSERT_EQUAL_FATAL(vl_parse(&packet, infiniband ? VL_LINK_INFINIBAND : VL_LINK_ETHERNET,
				       frame, length, length),
			      VL_PARSE_ok);
	icrc = vl_icrc_compute(&packet) ^ (variant->spoil_icrc ? 0x100 : 0);
	for (int i = 0; i < 4; i++)
		frame[length - 4 + (uint32_t)i] = (uint8_t)(icrc >> 8 * i);
	if (infiniband) {
		uint16_t vcrc = vl_vcrc(frame, length) ^ (variant->spoil_vcrc ? 1 : 0);

		frame[length++] = (uint8_t)vcrc;
		frame[length++] = (uint8_t)(vcrc >> 8);
	}
	return length;
}

/* Returns the packet's number. */
uint64_t feed(const uint8_t *frame, uint32_t length, uint32_t captured, enum vl_link_type link)
{
	struct vl_capture_packet packet = {
		.number = analysis->packets + 1,
		.time = now += US,
		.link_type =
			link == VL_LINK_ETHERNET ? VL_LINKTYPE_ETHERNET : VL_LINKTYPE_INFINIBAND,
		.data = frame,
		.captured_length = captured ? captured : length,
		.original_length = length,
		.frame = {.kind = VL_CAPTURE_FRAME_parseable,
			  .link = link,
			  .data = frame,
			  .length = captured ? captured : length,
			  .wire_length = length},
	};

	inspect_analysis_add(analysis, &packet);
	return packet.number;
}

uint64_t send_variant(char from, uint8_t opcode, uint32_t psn, struct variant variant)
{
	static uint8_t frame[8192];

	memset(frame, 0x5a, sizeof(frame));
	return feed(frame, write_frame(frame, from, opcode, psn, &variant), variant.captured,
		    variant.encapsulation >= VL_ENCAPSULATION_IB_LOCAL ? VL_LINK_INFINIBAND
								       : VL_LINK_ETHERNET);
}

uint64_t request(uint32_t psn)
{
	return SEND('A', VL_OP_SEND_ONLY, psn, .length = 64);
}

uint64_t answer(uint32_t psn, uint8_t syndrome)
{
	return SEND('B', VL_OP_ACKNOWLEDGE, psn, .syndrome = syndrome);
}

void begin(void)
{
	inspect_analysis_free(analysis);
	analysis = inspect_analysis_new();
	CU_ASSERT_PTR_NOT_NULL_FATAL(analysis);
	now = UINT64_C(1700000000000000000);
}

struct inspect_flow *flow_to(uint32_t qpn)
{
	for (uint32_t i = 0; i < analysis->flows.count; i++) {
		struct inspect_flow *flow = inspect_flow_at(&analysis->flows, i);

		if (flow->key.destination_qpn == qpn)
			return flow;
	}
	CU_FAIL_FATAL("no such flow");
	return NULL;
}

const struct inspect_event *event_of(enum inspect_event_kind kind)
{
	for (uint32_t i = 0; i < analysis->event_count; i++) {
		if (analysis->events[i].kind == kind)
			return &analysis->events[i];
	}
	CU_FAIL_FATAL("no such event");
	return NULL;
}

bool finds(const char *name)
{
	static struct inspect_verdict verdict;

	inspect_analysis_finish(analysis);
	inspect_verdict_make(&verdict, analysis, NULL);
	for (unsigned int i = 0; i < verdict.count; i++) {
		if (!strcmp(verdict.findings[i].name, name))
			return true;
	}
	return false;
}

uint64_t events(void)
{
	uint64_t count = 0;

	for (unsigned int kind = 0; kind < INSPECT_EVENT_KIND_COUNT; kind++)
		count += analysis->event_counts[kind];
	return count;
}
