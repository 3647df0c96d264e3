/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Endpoints with addresses, in virtual time: two that know nothing of each other find each other
 * and carry a message; what is not for them is dropped and counted. */

#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MS      UINT64_C(1000000)
#define MESSAGE 10000u

struct host {
	struct vl_node *node;
	struct vl_endpoint *endpoint;
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct vl_qp *qp;
	struct ibv_mr *mr;
	struct host_path path;
	uint8_t memory[MESSAGE];
	uint64_t ready_at;
	bool sends, is_ready;
	unsigned int again, completed, completions, asyncs;
	int failure;
};

struct pair {
	struct vl_network *network;
	struct host hosts[2];
};

static void note_completion(void *context, struct vl_cq *cq)
{
	struct host *host = context;

	CU_ASSERT_PTR_EQUAL(cq, host->cq);
	host->completions++;
}

static void note_async(void *context, enum ibv_event_type event, void *object)
{
	struct host *host = context;

	CU_ASSERT_EQUAL(event, IBV_EVENT_SQ_DRAINED);
	CU_ASSERT_PTR_EQUAL(object, host->qp);
	host->asyncs++;
}

static void post(struct host *host, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)host->memory, MESSAGE, host->mr->lkey};
	const struct ibv_send_wr *bad_send;
	const struct ibv_recv_wr *bad_receive;
	struct ibv_send_wr send = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1};

	CU_ASSERT_EQUAL(host->sends ? vl_post_send(host->qp, &send, &bad_send, now)
				    : vl_post_recv(host->qp, &receive, &bad_receive),
			0);
}

static void poll_host(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct host *host = context;
	struct ibv_wc wc;
	int result;

	(void)endpoint;
	if (!host->is_ready && !host->failure) {
		result = host_connect(host->qp, IBV_QPT_RC, &host->path, now);
		if (result == -EAGAIN) {
			host->again++;
		} else if (result) {
			host->failure = result;
		} else {
			host->is_ready = true;
			host->ready_at = now;
			post(host, now);
		}
	}
	while (vl_poll_cq(host->cq, 1, &wc) == 1)
		host->completed += wc.status == IBV_WC_SUCCESS;
}

/* Looks again each millisecond until it is connected. */
static uint64_t next_look(void *context)
{
	const struct host *host = context;

	return host->is_ready || host->failure ? UINT64_MAX : host->endpoint->now + MS;
}

static void make_ip(struct vl_ip_config *ip, uint16_t number, uint16_t vlan)
{
	*ip = (struct vl_ip_config){
		.address_count = 1,
		.addresses = {{host_gid(number), 16}},
		.vlan_present = vlan != 0,
		.vlan_id = vlan,
		.vlan_priority = 5,
		.speaks = true,
	};
}

static void open_host(struct pair *pair, uint16_t number, uint16_t vlan)
{
	struct host *host = &pair->hosts[number - 1];
	const struct vl_application application = {poll_host, next_look, host};
	struct vl_endpoint_config config = host_config(number, 0);
	struct vl_qp_init_attr init = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct vl_ip_config ip;

	make_ip(&ip, number, vlan);
	config.ip = &ip;
	config.device.gids[0].vlan_present = vlan != 0;
	config.device.gids[0].vlan_id = vlan;
	config.device.events = (struct vl_device_events){
		.completion = note_completion,
		.async = note_async,
		.context = host,
	};
	host->node = vl_network_add_endpoint(pair->network, &config);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->node);
	host->endpoint = vl_node_endpoint(host->node);
	host->pd = vl_alloc_pd(host->endpoint->device, NULL);
	host->cq = vl_create_cq(host->endpoint->device, 16, NULL, NULL);
	host->mr = vl_reg_mr(host->pd, host->memory, MESSAGE, (uintptr_t)host->memory,
			     IBV_ACCESS_LOCAL_WRITE, NULL);
	init.send_cq = init.recv_cq = host->cq;
	host->qp = vl_create_qp(host->pd, &init, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->qp);
	vl_req_notify_cq(host->cq, false);
	host->sends = number == 1;
	host->path = (struct host_path){
		.remote_host = 3 - number,
		.remote_qpn = 17,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.mtu = IBV_MTU_1024,
	};
	vl_endpoint_set_application(host->endpoint, &application);
}

static void open_pair(struct pair *pair, uint16_t vlan_of_one, uint16_t vlan_of_two)
{
	const struct vl_link_config link = {.rate = UINT64_C(10000000000), .propagation = 1000};

	memset(pair, 0, sizeof(*pair));
	pair->network = vl_network_create(NULL);
	open_host(pair, 1, vlan_of_one);
	open_host(pair, 2, vlan_of_two);
	CU_ASSERT_EQUAL(vl_network_connect(pair->network, pair->hosts[0].node, 0,
					   pair->hosts[1].node, 0, &link, NULL),
			0);
	memset(pair->hosts[0].memory, 0xa5, MESSAGE);
}

static void check_message(const struct pair *pair)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct host *host = &pair->hosts[i];

		CU_ASSERT(host->is_ready);
		CU_ASSERT_EQUAL(host->failure, 0);
		CU_ASSERT_EQUAL(host->completed, 1);
		CU_ASSERT_EQUAL(host->completions, 1);
	}
	CU_ASSERT(!memcmp(pair->hosts[0].memory, pair->hosts[1].memory, MESSAGE));
}

static void test_resolve_and_send(void)
{
	struct pair *pair = malloc(sizeof(*pair));
	struct ibv_qp_attr drain = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	open_pair(pair, 0, 0);
	vl_network_run_until(pair->network, 50 * MS);
	check_message(pair);
	CU_ASSERT_EQUAL(vl_modify_qp(pair->hosts[0].qp, &drain,
				     IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, 50 * MS),
			0);
	CU_ASSERT_EQUAL(pair->hosts[0].asyncs, 1);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT(pair->hosts[i].again >= 1);
		CU_ASSERT(pair->hosts[i].ready_at < 2 * MS);
		/* An announcement and a request. */
		CU_ASSERT_EQUAL(vl_ip_counters(pair->hosts[i].endpoint->ip)->malformed, 0);
		CU_ASSERT(vl_ip_counters(pair->hosts[i].endpoint->ip)->arp_tx >= 2);
	}
	vl_network_destroy(pair->network);
	free(pair);
}

static void see_tag(void *context, const struct vl_node *node, uint32_t port,
		    enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	unsigned int *priorities = context;

	(void)node;
	(void)port;
	(void)direction;
	(void)now;
	CU_ASSERT(frame->data[12] == 0x81 && frame->data[13] == 0 && frame->data[15] == 7);
	CU_ASSERT_EQUAL(frame->priority, frame->data[14] >> 5);
	priorities[frame->data[14] >> 5]++;
}

/* Each class of frames has its priority in the tag. */
static void test_vlan(void)
{
	struct pair *pair = malloc(sizeof(*pair));
	unsigned int priorities[8] = {0};
	const struct vl_tap tap = {see_tag, priorities};

	open_pair(pair, 7, 7);
	CU_ASSERT_EQUAL(vl_network_tap(pair->network, pair->hosts[0].node, 0, &tap), 0);
	vl_network_run_until(pair->network, 50 * MS);
	check_message(pair);
	CU_ASSERT(priorities[5] >= 3);                   /* ARP */
	CU_ASSERT(priorities[HOST_DATA_PRIORITY] >= 10); /* the message */
	vl_network_destroy(pair->network);
	free(pair);
}

/* In different VLANs they do not hear each other. */
static void test_other_vlan(void)
{
	struct pair *pair = malloc(sizeof(*pair));

	open_pair(pair, 7, 8);
	vl_network_run_until(pair->network, 5000 * MS);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_FALSE(pair->hosts[i].is_ready);
		CU_ASSERT_EQUAL(pair->hosts[i].failure, -EHOSTUNREACH);
		CU_ASSERT_EQUAL(vl_ip_counters(pair->hosts[i].endpoint->ip)->arp_rx, 0);
		CU_ASSERT(vl_ip_counters(pair->hosts[i].endpoint->ip)->not_ours >= 6);
		CU_ASSERT_EQUAL(vl_ip_counters(pair->hosts[i].endpoint->ip)->unresolved, 1);
	}
	vl_network_destroy(pair->network);
	free(pair);
}

static uint32_t drops_of(const struct host *host, enum vl_drop drop)
{
	return (uint32_t)vl_device_drops(host->endpoint->device)[drop];
}

/* A RoCE packet as host 2 gets it from host 1, altered: to another MAC, to another IP address, with
 * another tag, with a wrong ICRC. */
static void test_dropped_packets(void)
{
	struct pair *pair = malloc(sizeof(*pair));
	struct host *one, *two;
	uint8_t memory[2048], copy[2048];
	struct vl_frame frame = {.data = memory, .capacity = sizeof(memory)};

	open_pair(pair, 0, 0);
	one = &pair->hosts[0];
	two = &pair->hosts[1];
	vl_network_run_until(pair->network, 50 * MS);
	check_message(pair);
	post(one, 50 * MS);
	CU_ASSERT(vl_endpoint_transmit(one->endpoint, 50 * MS, &frame));
	CU_ASSERT(frame.length > 1024);
	memcpy(copy, memory, sizeof(copy));

	frame.data[5] ^= 4;
	vl_endpoint_receive(two->endpoint, &frame, 50 * MS);
	CU_ASSERT_EQUAL(drops_of(two, VL_DROP_not_for_us), 1);
	memcpy(memory, copy, sizeof(copy));
	frame.data[33] ^= 4; /* 10.0.0.6 */
	frame.data[25] -= 4; /* and its checksum */
	vl_endpoint_receive(two->endpoint, &frame, 50 * MS);
	CU_ASSERT_EQUAL(drops_of(two, VL_DROP_icrc) + drops_of(two, VL_DROP_not_for_us), 2);
	memcpy(memory, copy, sizeof(copy));
	frame.data[frame.length - 1] ^= 1;
	vl_endpoint_receive(two->endpoint, &frame, 50 * MS);
	CU_ASSERT_EQUAL(drops_of(two, VL_DROP_icrc), 2);
	memmove(memory + 4, copy, frame.length);
	memcpy(memory, copy, 12);
	memcpy(memory + 12, (const uint8_t[]){0x81, 0, 0, 9}, 4);
	memcpy(memory + 16, copy + 12, frame.length - 12);
	frame.length += 4;
	vl_endpoint_receive(two->endpoint, &frame, 50 * MS);
	CU_ASSERT_EQUAL(two->endpoint->counters.vlan_dropped, 1);
	/* Tagged with a priority alone it is what it was; it waits for a receive request. */
	memory[15] = 0;
	CU_ASSERT_EQUAL(vl_qp_counters(two->qp)->rnr_nak_tx, 0);
	vl_endpoint_receive(two->endpoint, &frame, 50 * MS);
	CU_ASSERT(vl_endpoint_transmit(two->endpoint, 50 * MS, &frame));
	CU_ASSERT_EQUAL(vl_qp_counters(two->qp)->rnr_nak_tx, 1);
	vl_network_destroy(pair->network);
	free(pair);
}

static struct vl_endpoint *open_alone(uint16_t number)
{
	struct vl_endpoint_config config = host_config(number, 0);
	struct vl_endpoint *endpoint;
	struct vl_ip_config ip;

	make_ip(&ip, number, 0);
	config.ip = &ip;
	if (number == 2)
		config.device.events.resolve = NULL;
	endpoint = vl_endpoint_create(&config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(endpoint);
	return endpoint;
}

/* A datagram from QP1 of one endpoint to QP1 of another, as it is on the wire. */
static void make_datagram(struct vl_endpoint *endpoint, struct vl_frame *frame)
{
	struct vl_pd *pd = vl_alloc_pd(endpoint->device, NULL);
	struct vl_cq *cq = vl_create_cq(endpoint->device, 16, NULL, NULL);
	struct vl_qp_init_attr init = {.send_cq = cq,
				       .recv_cq = cq,
				       .cap = {.max_send_wr = 1,
					       .max_recv_wr = 1,
					       .max_send_sge = 1,
					       .max_recv_sge = 1,
					       .max_inline_data = 256},
				       .qp_type = IBV_QPT_UD,
				       .gsi = true};
	struct vl_qp *qp = vl_create_qp(pd, &init, NULL);
	struct ibv_ah_attr path = {.grh = {.dgid = host_gid(2)}, .is_global = 1, .port_num = 1};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .qkey = 0x80010000};
	uint8_t data[256] = {1, 7, 2, 3};
	struct ibv_sge sge = {(uintptr_t)data, sizeof(data), 0};
	struct ibv_send_wr send = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_INLINE,
				   .wr.ud = {.remote_qpn = 1, .remote_qkey = 0x80010000}};
	const struct ibv_send_wr *bad;

	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	send.wr.ud.ah = vl_create_ah(pd, &path, NULL);
	CU_ASSERT_EQUAL(vl_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_QKEY, 0),
			0);
	attr.qp_state = IBV_QPS_RTR;
	CU_ASSERT_EQUAL(vl_modify_qp(qp, &attr, IBV_QP_STATE, 0), 0);
	attr.qp_state = IBV_QPS_RTS;
	CU_ASSERT_EQUAL(vl_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, 0), 0);
	CU_ASSERT_EQUAL(vl_post_send(qp, &send, &bad, 0), 0);
	/* What ARP has to say goes first. */
	while (vl_endpoint_transmit(endpoint, 0, frame) && frame->length < 300)
		;
	CU_ASSERT(frame->length > 300);
}

/* The sender of a management datagram need not be asked for its MAC, unless it is a forgery. */
static void test_learn_from_datagrams(void)
{
	struct vl_endpoint *one = open_alone(1), *two = open_alone(2);
	struct vl_pd *pd = vl_alloc_pd(two->device, NULL);
	struct ibv_ah_attr back = {.grh = {.dgid = host_gid(1)}, .is_global = 1, .port_num = 1};
	uint8_t memory[2048];
	struct vl_frame frame = {.data = memory, .capacity = sizeof(memory)};
	int error = 0;

	make_datagram(one, &frame);
	memory[frame.length - 1] ^= 1; /* ICRC */
	vl_endpoint_receive(two, &frame, 0);
	CU_ASSERT_PTR_NULL(vl_create_ah(pd, &back, &error));
	CU_ASSERT_EQUAL(error, -EAGAIN);
	memory[frame.length - 1] ^= 1;
	memory[5] ^= 8; /* to another station */
	vl_endpoint_receive(two, &frame, 0);
	CU_ASSERT_PTR_NULL(vl_create_ah(pd, &back, &error));
	memory[5] ^= 8;
	vl_endpoint_receive(two, &frame, 0);
	CU_ASSERT_PTR_NOT_NULL(vl_create_ah(pd, &back, &error));
	vl_endpoint_destroy(one);
	vl_endpoint_destroy(two);
}

/* Time need not run: the endpoint's last moment is what resolution counts with. */
static void test_unreachable(void)
{
	struct vl_endpoint_config config = host_config(1, 0);
	struct vl_ip_config ip;
	struct vl_endpoint *endpoint;
	struct ibv_ah_attr attr = {.grh = {.dgid = host_gid(2)}, .is_global = 1, .port_num = 1};
	struct vl_pd *pd;
	int error = 0;

	make_ip(&ip, 1, 0);
	config.ip = &ip;
	config.device.events.resolve = NULL;
	endpoint = vl_endpoint_create(&config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(endpoint);
	pd = vl_alloc_pd(endpoint->device, NULL);
	CU_ASSERT_PTR_NULL(vl_create_ah(pd, &attr, &error));
	CU_ASSERT_EQUAL(error, -EAGAIN);
	attr.grh.dgid.raw[12] = 11;
	CU_ASSERT_PTR_NULL(vl_create_ah(pd, &attr, &error));
	CU_ASSERT_EQUAL(error, -ENETUNREACH);
	CU_ASSERT_EQUAL(vl_endpoint_next_deadline(endpoint), 0);
	vl_endpoint_destroy(endpoint);
	ip.address_count = 0;
	CU_ASSERT_PTR_NULL(vl_endpoint_create(&config, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"resolve_and_send", test_resolve_and_send},
		{"vlan", test_vlan},
		{"other_vlan", test_other_vlan},
		{"dropped_packets", test_dropped_packets},
		{"learn_from_datagrams", test_learn_from_datagrams},
		{"unreachable", test_unreachable},
	};

	return RUN_SUITE("unit/endpoint_ip", tests, argc, argv);
}
