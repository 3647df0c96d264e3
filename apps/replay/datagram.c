/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Unreliable datagrams. As requester: each recorded packet is sent again, through an address handle
 * made from it, and compared. As responder: each is received, and must come out of the receive
 * queue as it went in; nothing is answered.
 */

#include "apps/replay/stack.h"
#include "transport/psn.h"

#include <stdlib.h>
#include <string.h>

#define GRH_LENGTH 40
#define GSI_QPN    1

struct run {
	struct trial *trial;
	const struct conversation *conversation;
	struct stack stack;
	uint8_t buffer[GRH_LENGTH + 4096];
	struct ibv_mr *mr;
	uint32_t next_psn; /* requester: that the stack sends next */
};

static bool open_run(struct run *run, const struct recorded_packet *model, bool received)
{
	const struct vl_packet *packet = &model->packet;
	uint32_t qpn = received ? packet->destination_qpn : packet->source_qpn;
	struct stack_options options = {
		.model = model,
		.model_is_received = received,
		.type = IBV_QPT_UD,
		.qpn = qpn,
		.path_mtu = 4096,
		.sq_psn = packet->psn,
		.send_depth = 16,
		.gsi = qpn == GSI_QPN,
		.qkey = packet->qkey,
	};
	struct trial *trial = run->trial;
	int error;

	if (!stack_open(&run->stack, &options, trial->skip_reason, sizeof(trial->skip_reason)))
		return false;
	run->mr = vl_reg_mr(run->stack.pd, run->buffer, sizeof(run->buffer), 0,
			    IBV_ACCESS_LOCAL_WRITE, &error);
	if (!run->mr)
		snprintf(trial->skip_reason, sizeof(trial->skip_reason), "out of memory");
	run->next_psn = packet->psn;
	return run->mr != NULL;
}

/* ---- Requester ------------------------------------------------------------------------------ */

static struct ibv_ah *address_of(struct run *run, const struct vl_packet *packet)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .sl = packet->priority & 7};
	int error;

	attr.grh.dgid = packet->destination_gid;
	attr.grh.traffic_class = packet->traffic_class;
	attr.grh.hop_limit = packet->hop_limit;
	attr.grh.flow_label = packet->flow_label;
	return vl_create_ah(run->stack.pd, &attr, &error);
}

/* The queue pair has sent to others in between: the stack goes on where it did. False: the stack
 * could not be opened anew. */
static bool skip_others(struct run *run, const struct recorded_packet *recorded)
{
	uint64_t now = run->stack.now;
	bool fits;

	stack_close(&run->stack);
	fits = open_run(run, recorded, false);
	run->stack.now = now;
	return fits;
}

static void send_one(struct run *run, const struct recorded_packet *recorded)
{
	const struct vl_packet *packet = &recorded->packet;
	struct ibv_sge sge = {0, packet->payload_length, 0};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = packet->payload_length ? 1 : 0,
		.opcode =
			packet->info->flags & VL_OPCODE_IMMDT ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | (packet->solicited ? IBV_SEND_SOLICITED : 0),
		.imm_data = packet->immediate,
	};
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	struct ibv_ah *ah;
	struct stack_packets sent = {0};
	struct comparison comparison = {0};
	const struct ibv_send_wr *bad;
	struct ibv_wc wc;
	bool is_sent, has_skipped = vl_psn_distance(packet->psn, run->next_psn) > 0;

	if (has_skipped && !skip_others(run, recorded)) {
		run->trial->skipped = true;
		return;
	}
	ah = address_of(run, packet);
	sge.lkey = run->mr->lkey;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = packet->destination_qpn;
	wr.wr.ud.remote_qkey = packet->qkey;
	memcpy(run->buffer, packet->payload, packet->payload_length);
	is_sent = ah && !vl_post_send(run->stack.qp, &wr, &bad, run->stack.now) &&
		  vl_transmit(run->stack.device, run->stack.now, &outgoing);
	if (!is_sent) {
		run->trial->compared++;
		run->trial->different++;
		trial_difference(run->trial, "recorded, and not sent by the stack", recorded, NULL);
	} else if (stack_packets_add(&sent, &outgoing, run->stack.now)) {
		comparison = compare_packets(packet, &sent.items[0].packet);
		if (has_skipped)
			comparison.freedoms |= 1u << REPLAY_FREEDOM_other_destinations;
		run->next_psn = vl_psn_add(packet->psn, 1);
		trial_count(run->trial, &comparison);
		if (comparison.is_different)
			trial_difference(run->trial, comparison.field, recorded,
					 &sent.items[0].packet);
	}
	stack_packets_release(&sent);
	while (vl_poll_cq(run->stack.send_cq, 1, &wc) == 1)
		run->trial->messages += wc.status == IBV_WC_SUCCESS;
	if (ah)
		vl_destroy_ah(ah);
}

/* ---- Responder ------------------------------------------------------------------------------ */

static void receive_one(struct run *run, const struct recorded_packet *recorded)
{
	const struct vl_packet *packet = &recorded->packet;
	struct ibv_sge sge = {0, sizeof(run->buffer), run->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;
	struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
	char field[REPLAY_LINE] = "";

	vl_post_recv(run->stack.qp, &wr, &bad);
	vl_receive(run->stack.device, packet, run->stack.now);
	run->trial->fed++;
	run->trial->compared++;
	if (vl_poll_cq(run->stack.recv_cq, 1, &wc) != 1)
		snprintf(field, sizeof(field), "recorded, and not received by the stack");
	else if (wc.status != IBV_WC_SUCCESS)
		snprintf(field, sizeof(field), "the receive ended with status %d", wc.status);
	else if (wc.byte_len != GRH_LENGTH + packet->payload_length ||
		 memcmp(run->buffer + GRH_LENGTH, packet->payload, packet->payload_length))
		snprintf(field, sizeof(field), "the payload was not received as recorded");
	else if (wc.src_qp != packet->source_qpn)
		snprintf(field, sizeof(field), "source QPN: recorded 0x%06x, received 0x%06x",
			 packet->source_qpn, wc.src_qp);
	if (!*field) {
		run->trial->equal++;
		run->trial->messages++;
		return;
	}
	run->trial->different++;
	trial_difference(run->trial, field, recorded, NULL);
}

/* A UD queue pair may send to several; the stack takes the place of the first of them. */
static bool is_for_responder(const struct run *run, const struct vl_packet *packet)
{
	return packet->destination_qpn == run->conversation->responder_qpn &&
	       !memcmp(&packet->destination_gid, &run->conversation->responder,
		       sizeof(union ibv_gid));
}

bool replay_datagrams(struct trial *trial)
{
	struct run *run = calloc(1, sizeof(*run));
	const struct packet_list *requests = &trial->conversation->requests;

	if (!run)
		return false;
	run->trial = trial;
	run->conversation = trial->conversation;
	if (!open_run(run, requests->items[0], trial->role == REPLAY_RESPONDER)) {
		trial->skipped = true;
	} else {
		for (uint32_t i = 0; i < requests->count && !trial->skipped; i++) {
			if (requests->items[i]->time + 1 > run->stack.now)
				run->stack.now = requests->items[i]->time + 1;
			if (trial->role == REPLAY_REQUESTER)
				send_one(run, requests->items[i]);
			else if (is_for_responder(run, &requests->items[i]->packet))
				receive_one(run, requests->items[i]);
			else
				trial->not_compared++;
		}
	}
	stack_close(&run->stack);
	free(run);
	return true;
}
