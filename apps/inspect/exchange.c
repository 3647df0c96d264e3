/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/exchange.h"

#include "apps/inspect/analysis.h"
#include "apps/inspect/describe.h"
#include "transport/cm/rdma_ip.h"
#include "transport/cm/reason.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_between(const struct inspect_proposal *proposal, const union ibv_gid *source,
		       const union ibv_gid *destination)
{
	return proposal->used && !memcmp(&proposal->source, source, sizeof(*source)) &&
	       !memcmp(&proposal->destination, destination, sizeof(*destination));
}

static struct inspect_proposal *find_proposal(struct inspect_exchanges *exchanges,
					      const union ibv_gid *source,
					      const union ibv_gid *destination, uint32_t comm_id)
{
	for (uint32_t i = 0; i < INSPECT_MAX_PROPOSALS; i++) {
		struct inspect_proposal *proposal = &exchanges->proposals[i];

		if (proposal->comm_id == comm_id && is_between(proposal, source, destination))
			return proposal;
	}
	return NULL;
}

static void propose(struct inspect_exchanges *exchanges, const struct inspect_flow *flow,
		    const struct vl_cm_req *req)
{
	struct inspect_proposal *proposal = find_proposal(
		exchanges, &flow->key.source, &flow->key.destination, req->local_comm_id);

	if (proposal && proposal->qpn == req->local_qpn) {
		exchanges->repeated++;
		return;
	}
	if (!proposal)
		proposal =
			&exchanges->proposals[exchanges->next_proposal++ % INSPECT_MAX_PROPOSALS];
	exchanges->unanswered += proposal->used && !proposal->answered;
	*proposal = (struct inspect_proposal){
		.source = flow->key.source,
		.destination = flow->key.destination,
		.comm_id = req->local_comm_id,
		.qpn = req->local_qpn,
		.starting_psn = req->starting_psn,
		.service_id = req->service_id,
		.path_mtu = req->path_mtu,
		.used = true,
	};
}

/* One half of the connection that a REP confirms, before or after its first packet. */
static struct inspect_flow *half_of(struct inspect_analysis *analysis, const union ibv_gid *source,
				    const union ibv_gid *destination, uint32_t destination_qpn,
				    uint32_t encapsulation)
{
	struct inspect_flow_key key = {
		.source = *source,
		.destination = *destination,
		.destination_qpn = destination_qpn,
		.encapsulation = encapsulation,
	};

	return inspect_flow_get(&analysis->flows, &key);
}

/* The starting PSN of a message is the one that its receiver shall begin with (IBTA 12.7.33). */
static void accept(struct inspect_analysis *analysis, struct inspect_proposal *proposal,
		   const struct vl_cm_rep *rep, uint32_t encapsulation)
{
	struct inspect_flow *forth, *back;

	proposal->answered = true;
	if (proposal->accepted)
		return;
	proposal->accepted = true;
	forth = half_of(analysis, &proposal->source, &proposal->destination, rep->local_qpn,
			encapsulation);
	back = half_of(analysis, &proposal->destination, &proposal->source, proposal->qpn,
		       encapsulation);
	if (!forth || !back || forth == back)
		return;
	forth->service_id = back->service_id = proposal->service_id;
	inspect_requests_expect(&forth->requests, rep->starting_psn);
	inspect_requests_expect(&back->requests, proposal->starting_psn);
	inspect_pair_flows(forth, back, INSPECT_PAIRED_BY_CM);
	if (proposal->path_mtu >= IBV_MTU_256 && proposal->path_mtu <= IBV_MTU_4096)
		inspect_learn_path_mtu(forth, UINT32_C(128) << proposal->path_mtu);
}

static void follow(struct inspect_analysis *analysis, const struct inspect_flow *flow,
		   const struct vl_cm_message *message)
{
	struct inspect_exchanges *exchanges = &analysis->exchanges;
	struct inspect_proposal *proposal;
	uint32_t answered_id;

	switch (message->attribute_id) {
	case VL_CM_REQ:
		propose(exchanges, flow, &message->req);
		return;
	case VL_CM_REP:
		answered_id = message->rep.remote_comm_id;
		break;
	case VL_CM_REJ:
		exchanges->rejected++;
		answered_id = message->rej.remote_comm_id;
		break;
	default:
		return;
	}
	proposal = find_proposal(exchanges, &flow->key.destination, &flow->key.source, answered_id);
	if (!proposal)
		return;
	proposal->answered = true;
	if (message->attribute_id == VL_CM_REP)
		accept(analysis, proposal, &message->rep, flow->key.encapsulation);
}

static void keep(struct inspect_analysis *analysis, const struct inspect_flow *flow,
		 const struct inspect_arrival *arrival, const struct vl_cm_message *message)
{
	struct inspect_exchanges *exchanges = &analysis->exchanges;

	if (exchanges->count == INSPECT_MAX_EXCHANGES || analysis->is_lean)
		return;
	if (exchanges->count == exchanges->capacity) {
		uint32_t capacity = exchanges->capacity ? 2 * exchanges->capacity : 16;
		struct inspect_exchange *list =
			realloc(exchanges->list, capacity * sizeof(*exchanges->list));

		if (!list) {
			analysis->out_of_memory = true;
			return;
		}
		exchanges->list = list;
		exchanges->capacity = capacity;
	}
	exchanges->list[exchanges->count++] = (struct inspect_exchange){
		.packet = arrival->number,
		.time = arrival->time,
		.flow = flow,
		.message = *message,
	};
}

void inspect_exchange(struct inspect_analysis *analysis, struct inspect_flow *flow,
		      const struct inspect_arrival *arrival)
{
	const struct vl_packet *packet = arrival->packet;
	struct vl_cm_message message;

	/* Of a packet that was cut there is no whole datagram. */
	if (!packet->icrc ||
	    vl_cm_decode(&message, packet->payload, packet->payload_length) != VL_CM_RESULT_ok) {
		analysis->exchanges.undecoded++;
		return;
	}
	analysis->exchanges.seen++;
	keep(analysis, flow, arrival, &message);
	follow(analysis, flow, &message);
}

uint64_t inspect_unanswered_proposals(const struct inspect_exchanges *exchanges)
{
	uint64_t count = exchanges->unanswered;

	for (uint32_t i = 0; i < INSPECT_MAX_PROPOSALS; i++)
		count += exchanges->proposals[i].used && !exchanges->proposals[i].answered;
	return count;
}

static void service_text(uint64_t service_id, char *text, size_t size)
{
	enum vl_rdma_port_space space;
	uint16_t port;

	if (vl_rdma_service_id_decode(service_id, &space, &port))
		snprintf(text, size, "%s port %u", vl_rdma_port_space_name(space), port);
	else
		snprintf(text, size, "0x%016" PRIx64, service_id);
}

/* " from ADDRESS port N", if the private data begin with the addresses. */
static void addresses_text(const struct vl_cm_message *message, char *text, size_t size)
{
	char source[INSPECT_ADDRESS_TEXT], destination[INSPECT_ADDRESS_TEXT];
	struct vl_rdma_ip ip;

	text[0] = 0;
	if (vl_rdma_ip_decode(&ip, message->private_data, message->private_data_length))
		return;
	snprintf(text, size, ", from %s port %u to %s",
		 inspect_address_text(&ip.source, VL_ENCAPSULATION_ROCEV2_IPV6, source),
		 ip.source_port,
		 inspect_address_text(&ip.destination, VL_ENCAPSULATION_ROCEV2_IPV6, destination));
}

static const char *mtu_text(uint8_t mtu, char text[8])
{
	if (mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096)
		snprintf(text, 8, "%u", 128u << mtu);
	else
		strcpy(text, "?");
	return text;
}

static const char *rejected_text(uint8_t message)
{
	static const char *const names[] = {"the REQ", "the REP", "the exchange", "?"};

	return names[message & 3];
}

static void request_text(const struct vl_cm_message *message, char *text, size_t size)
{
	static const char *const services[] = {"RC", "UC", "RD", "XRC"};
	const struct vl_cm_req *req = &message->req;
	char service[48], addresses[128], mtu[8];

	service_text(req->service_id, service, sizeof(service));
	addresses_text(message, addresses, sizeof(addresses));
	snprintf(text, size, "%s QP 0x%x, %s, PSN 0x%06x, MTU %s, retries %u, RNR retries %u%s",
		 services[req->transport_service_type & 3], req->local_qpn, service,
		 req->starting_psn, mtu_text(req->path_mtu, mtu), req->retry_count,
		 req->rnr_retry_count, addresses);
}

const char *inspect_exchange_text(const struct inspect_exchange *exchange,
				  char text[INSPECT_EXCHANGE_TEXT])
{
	const struct vl_cm_message *message = &exchange->message;
	int used = snprintf(text, INSPECT_EXCHANGE_TEXT, "%-8s ",
			    vl_cm_message_name(message->attribute_id));
	size_t size = INSPECT_EXCHANGE_TEXT - (size_t)used;
	char service[48], addresses[128];
	char *rest = text + used;

	rest[0] = 0;
	switch (message->attribute_id) {
	case VL_CM_REQ:
		request_text(message, rest, size);
		break;
	case VL_CM_REP:
		snprintf(rest, size, "QP 0x%x, PSN 0x%06x, RNR retries %u%s",
			 message->rep.local_qpn, message->rep.starting_psn,
			 message->rep.rnr_retry_count, message->rep.srq ? ", with SRQ" : "");
		break;
	case VL_CM_REJ:
		snprintf(rest, size, "%s: %s (%u)", rejected_text(message->rej.message_rejected),
			 vl_cm_reject_reason_meaning(message->rej.reason), message->rej.reason);
		break;
	case VL_CM_MRA:
		snprintf(rest, size, "%s takes longer", rejected_text(message->mra.message_mraed));
		break;
	case VL_CM_DREQ:
		snprintf(rest, size, "QP 0x%x is to be released", message->dreq.remote_qpn_eecn);
		break;
	case VL_CM_SIDR_REQ:
		service_text(message->sidr_req.service_id, service, sizeof(service));
		addresses_text(message, addresses, sizeof(addresses));
		snprintf(rest, size, "%s%s", service, addresses);
		break;
	case VL_CM_SIDR_REP:
		if (message->sidr_rep.status)
			snprintf(rest, size, "%s",
				 vl_cm_sidr_status_meaning(message->sidr_rep.status));
		else
			snprintf(rest, size, "QP 0x%x, Q_Key 0x%08x", message->sidr_rep.qpn,
				 message->sidr_rep.qkey);
		break;
	case VL_CM_APR:
		snprintf(rest, size, "%s", vl_cm_apr_status_meaning(message->apr.status));
		break;
	default: /* the others say no more than that they are there */
		snprintf(rest, size, "%s", vl_cm_message_meaning(message->attribute_id));
		break;
	}
	return text;
}
