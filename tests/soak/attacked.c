/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The queue pairs that the attacker aims at. */

#include "tests/soak/soak.h"

static int ready_datagram(struct vl_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7};
	int result = vl_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0);

	attr.qp_state = IBV_QPS_RTR;
	return result ? result : vl_modify_qp(qp, &attr, IBV_QP_STATE, 0);
}

static void post_some(struct soak *soak, struct attacked *attacked, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)soak->attacked_memory + GUARD, 2048,
			      soak->attacked_mr->lkey};
	struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1};
	struct ibv_send_wr send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	const struct ibv_recv_wr *bad_receive;
	const struct ibv_send_wr *bad_send;

	vl_post_recv(attacked->qp, &receive, &bad_receive);
	if (attacked->type == IBV_QPT_RC)
		vl_post_send(attacked->qp, &send, &bad_send, now);
}

static bool give_birth(struct soak *soak, struct attacked *attacked, uint32_t number)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC,
						 IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	struct host_path path = path_to(ATTACKER, 0x900 + number,
					(uint32_t)vl_random_below(&soak->random, 1 << 24));
	uint64_t now = vl_network_now(soak->network);
	int result;

	attacked->type = types[number % ATTACKED_QPS];
	attacked->born = now;
	attacked->qp = make_qp(soak->attacked_pd, soak->attacked_cq, attacked->type);
	if (!attacked->qp)
		return false;
	result = attacked->type == IBV_QPT_UD
			 ? ready_datagram(attacked->qp)
			 : host_connect(attacked->qp, attacked->type, &path, now);
	for (int i = 0; i < 3 && !result; i++)
		post_some(soak, attacked, now);
	return !result;
}

bool open_attacked(struct soak *soak)
{
	for (uint32_t i = 0; i < ATTACKED_QPS; i++) {
		if (!give_birth(soak, &soak->attacked[i], i))
			return false;
	}
	return true;
}

void tend_attacked(struct soak *soak)
{
	struct ibv_wc wc[16];
	uint64_t now = vl_network_now(soak->network);

	while (vl_poll_cq(soak->attacked_cq, 16, wc) > 0)
		;
	for (uint32_t i = 0; i < ATTACKED_QPS; i++) {
		struct attacked *attacked = &soak->attacked[i];
		bool is_broken = vl_qp_state(attacked->qp) == IBV_QPS_ERR;

		/* For a while it gets what a broken one gets. */
		if ((is_broken && vl_random_below(&soak->random, 20) == 0) ||
		    vl_random_below(&soak->random, 5000) == 0) {
			vl_destroy_qp(attacked->qp);
			soak->reborn++;
			if (!give_birth(soak, attacked, i))
				fail(soak, "no new queue pair", i, 0);
		} else if (!is_broken && vl_random_below(&soak->random, 10) == 0) {
			post_some(soak, attacked, now);
		}
	}
}
