/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/host_telemetry.h"

#include "dataplane/runtime/telemetry_port.h"
#include "transport/wire/gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_NUMBERS 3
/* QPNs that a worker looks through in one call: some tens of microseconds. */
#define QPNS_PER_CALL 4096u
/* What one answer of the socket takes. */
#define QPS_PER_ANSWER 512u
#define QPNS_OF_WORKER (1u << VL_HOST_QPN_SHIFT)

/* ---- Questions to a worker ------------------------------------------------------------- */

/* What all workers' endpoints of a port count, added up. */
struct port_sum {
	struct vl_host *host;
	uint32_t port, worker;
	struct vl_counters counters;
	uint64_t drops[VL_DROP_COUNT];
	struct vl_endpoint_counters endpoint;
	struct vl_ip_counters ip;
	struct vl_pfc_receiver pauses; /* of the first worker: all obey the same frames */
	uint64_t now;
};

/* Structures of counters alone. */
static void add_counters(void *sum, const void *part, size_t size)
{
	uint64_t *sums = sum;
	const uint64_t *parts = part;

	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		sums[i] += parts[i];
}

static void add_endpoint(void *context, uint64_t now)
{
	struct port_sum *sum = context;
	struct vl_endpoint *endpoint = vl_host_endpoint(sum->host, sum->port, sum->worker);

	add_counters(&sum->counters, vl_device_counters(endpoint->device), sizeof(sum->counters));
	add_counters(sum->drops, vl_device_drops(endpoint->device), sizeof(sum->drops));
	add_counters(&sum->endpoint, &endpoint->counters, sizeof(sum->endpoint));
	if (endpoint->ip)
		add_counters(&sum->ip, vl_ip_counters(endpoint->ip), sizeof(sum->ip));
	if (!sum->worker) {
		sum->pauses = endpoint->pause;
		vl_pfc_receiver_update(&sum->pauses, now);
	}
	sum->now = now;
}

/* Of the port that parameters name. */
static int sum_up(const struct vl_host_telemetry *telemetry, const char *parameters,
		  struct port_sum *sum)
{
	int port = vl_telemetry_index(parameters, telemetry->port_count), result = 0;

	if (port < 0)
		return port;
	memset(sum, 0, sizeof(*sum));
	sum->host = telemetry->host;
	sum->port = (uint32_t)port;
	for (sum->worker = 0; sum->worker < telemetry->worker_count && !result; sum->worker++)
		result = vl_host_call(telemetry->host, sum->worker, add_endpoint, sum);
	return result;
}

/* ---- Ports and workers ----------------------------------------------------------------- */

static int answer_info(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_host_telemetry *telemetry = context;

	(void)parameters;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_text(reply, "command", telemetry->command);
	vl_telemetry_put_text(reply, "version", telemetry->version);
	vl_telemetry_put_number(reply, "ports", telemetry->port_count);
	vl_telemetry_put_number(reply, "workers", telemetry->worker_count);
	vl_telemetry_put_number(reply, "uptime_ns", vl_host_now(telemetry->host));
	return 0;
}

static int answer_ports(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_host_telemetry *telemetry = context;

	(void)parameters;
	vl_telemetry_begin_texts(reply);
	for (uint32_t i = 0; i < telemetry->port_count; i++)
		vl_telemetry_add_text(reply, vl_host_port(telemetry->host, i)->name);
	return 0;
}

static int answer_port(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_host_telemetry *telemetry = context;
	int port = vl_telemetry_index(parameters, telemetry->port_count);

	if (port < 0)
		return port;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_port(reply, vl_host_port(telemetry->host, (uint32_t)port));
	return 0;
}

static int answer_worker(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_host_telemetry *telemetry = context;
	int worker = vl_telemetry_index(parameters, telemetry->worker_count);
	struct vl_host_counters counters;

	if (worker < 0)
		return worker;
	counters = vl_host_counters(telemetry->host, (uint32_t)worker);
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_worker(reply, &counters.worker);
	vl_telemetry_put_number(reply, "handed_over", counters.handed_over);
	vl_telemetry_put_number(reply, "hand_over_dropped", counters.hand_over_dropped);
	vl_telemetry_put_number(reply, "mempool_exhausted", counters.mempool_exhausted);
	vl_telemetry_put_number(reply, "rx_segmented", counters.rx_segmented);
	return 0;
}

#define PUT(name, ...) vl_telemetry_put_number(reply, #name, counters->name);

static void put_counters(struct vl_telemetry_reply *reply, const struct vl_counters *counters)
{
	VL_COUNTERS(PUT)
}

static void put_endpoint(struct vl_telemetry_reply *reply,
			 const struct vl_endpoint_counters *counters)
{
	VL_ENDPOINT_COUNTERS(PUT)
}

static void put_ip(struct vl_telemetry_reply *reply, const struct vl_ip_counters *counters)
{
	VL_IP_COUNTERS(PUT)
}

static int answer_counters(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	struct port_sum sum;
	int result = sum_up(context, parameters, &sum);

	if (result)
		return result;
	vl_telemetry_begin_object(reply);
	put_counters(reply, &sum.counters);
	put_endpoint(reply, &sum.endpoint);
	return 0;
}

static int answer_drops(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	struct port_sum sum;
	int result = sum_up(context, parameters, &sum);

	if (result)
		return result;
	vl_telemetry_begin_object(reply);
#define PUT_DROP(name, meaning) vl_telemetry_put_number(reply, #name, sum.drops[VL_DROP_##name]);
	VL_DROPS(PUT_DROP)
#undef PUT_DROP
	return 0;
}

static int answer_ip(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	struct port_sum sum;
	int result = sum_up(context, parameters, &sum);

	if (result)
		return result;
	vl_telemetry_begin_object(reply);
	put_ip(reply, &sum.ip);
	return 0;
}

static int answer_pfc(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	struct port_sum sum;
	int result = sum_up(context, parameters, &sum);

	if (result)
		return result;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_number(reply, "pfc_rx", sum.endpoint.pfc_rx);
	vl_telemetry_put_number(reply, "pfc_tx", sum.endpoint.pfc_tx);
	vl_telemetry_put_pauses(reply, &sum.pauses, sum.now);
	return 0;
}

/* ---- Queue pairs ----------------------------------------------------------------------- */

struct qp_search {
	struct vl_host *host;
	uint32_t port, worker;
	uint32_t next, end; /* QPNs; end is not looked at */
	uint32_t count;
	uint32_t found[QPS_PER_ANSWER];
};

static void search_qps(void *context, uint64_t now)
{
	struct qp_search *search = context;
	const struct vl_device *device =
		vl_host_endpoint(search->host, search->port, search->worker)->device;
	uint32_t stop = search->next + QPNS_PER_CALL;

	(void)now;
	while (search->next < search->end && search->next < stop &&
	       search->count < QPS_PER_ANSWER) {
		if (vl_find_qp(device, search->next))
			search->found[search->count++] = search->next;
		search->next++;
	}
}

/* Parameters: a port, and perhaps the QPN to begin at. */
static int answer_qp_list(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_host_telemetry *telemetry = context;
	struct qp_search search = {.host = telemetry->host};
	uint64_t numbers[MAX_NUMBERS];
	int count = vl_telemetry_numbers(parameters, numbers, 2), result = 0;
	uint32_t from;

	if (count < 1 || numbers[0] >= telemetry->port_count || (count == 2 && numbers[1] >> 24))
		return -EINVAL;
	from = count == 2 ? (uint32_t)numbers[1] : 0;
	search.port = (uint32_t)numbers[0];
	for (search.worker = vl_host_qpn_worker(from);
	     search.worker < telemetry->worker_count && !result; search.worker++) {
		search.next = search.worker * QPNS_OF_WORKER;
		if (search.next < from)
			search.next = from;
		search.end = (search.worker + 1) * QPNS_OF_WORKER;
		while (!result && search.next < search.end && search.count < QPS_PER_ANSWER)
			result = vl_host_call(telemetry->host, search.worker, search_qps, &search);
	}
	if (result)
		return result;
	vl_telemetry_begin_numbers(reply);
	for (uint32_t i = 0; i < search.count; i++)
		vl_telemetry_add_number(reply, search.found[i]);
	return 0;
}

struct qp_look {
	struct vl_host *host;
	uint32_t port, worker, qpn;
	bool exists;
	struct ibv_qp_attr attr;
	struct vl_qp_init_attr init;
	struct vl_counters counters;
	struct vl_cc_report cc;
};

static void look_at_qp(void *context, uint64_t now)
{
	struct qp_look *look = context;
	struct vl_qp *qp = vl_find_qp(
		vl_host_endpoint(look->host, look->port, look->worker)->device, look->qpn);

	look->exists = qp != NULL;
	if (!qp)
		return;
	vl_query_qp(qp, &look->attr, &look->init);
	look->counters = *vl_qp_counters(qp);
	look->cc = vl_query_cc(qp, now);
}

/* Parameters: a port and a QPN. -ENOENT: there is no such QP. */
static int find_qp(const struct vl_host_telemetry *telemetry, const char *parameters,
		   struct qp_look *look)
{
	uint64_t numbers[MAX_NUMBERS];
	int result;

	if (vl_telemetry_numbers(parameters, numbers, 2) != 2 ||
	    numbers[0] >= telemetry->port_count || numbers[1] >> 24)
		return -EINVAL;
	memset(look, 0, sizeof(*look));
	look->host = telemetry->host;
	look->port = (uint32_t)numbers[0];
	look->qpn = (uint32_t)numbers[1];
	look->worker = vl_host_qpn_worker(look->qpn);
	if (look->worker >= telemetry->worker_count)
		return -ENOENT;
	result = vl_host_call(telemetry->host, look->worker, look_at_qp, look);
	if (result)
		return result;
	return look->exists ? 0 : -ENOENT;
}

static const char *type_name(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "UD";
}

static const char *state_name(enum ibv_qp_state state)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return (unsigned int)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static void put_gid(struct vl_telemetry_reply *reply, const char *name, const union ibv_gid *gid)
{
	char text[INET6_ADDRSTRLEN];
	bool is_ipv4 = vl_gid_is_ipv4(gid);

	inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? gid->raw + VL_GID_IPV4_OFFSET : gid->raw,
		  text, sizeof(text));
	vl_telemetry_put_text(reply, name, text);
}

static int answer_qp_info(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	struct qp_look look;
	int result = find_qp(context, parameters, &look);

	if (result)
		return result;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_number(reply, "qpn", look.qpn);
	vl_telemetry_put_number(reply, "worker", look.worker);
	vl_telemetry_put_text(reply, "type", type_name(look.init.qp_type));
	vl_telemetry_put_text(reply, "state", state_name(look.attr.qp_state));
	vl_telemetry_put_number(reply, "remote_qpn", look.attr.dest_qp_num);
	put_gid(reply, "remote_address", &look.attr.ah_attr.grh.dgid);
	vl_telemetry_put_number(reply, "path_mtu",
				look.attr.path_mtu ? 128u << look.attr.path_mtu : 0);
	vl_telemetry_put_number(reply, "sq_psn", look.attr.sq_psn);
	vl_telemetry_put_number(reply, "rq_psn", look.attr.rq_psn);
	put_counters(reply, &look.counters);
	return 0;
}

/* 0: not limited. */
static uint64_t limit(uint64_t rate)
{
	return rate == UINT64_MAX ? 0 : rate;
}

static int answer_cc(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	struct qp_look look;
	int result = find_qp(context, parameters, &look);

	if (result)
		return result;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_number(reply, "rate_bps", limit(look.cc.rate));
	vl_telemetry_put_number(reply, "target_rate_bps", limit(look.cc.target_rate));
	vl_telemetry_put_number(reply, "alpha_ppm", (uint64_t)(look.cc.alpha * 1e6));
	vl_telemetry_put_number(reply, "rate_cuts", look.cc.rate_cuts);
	vl_telemetry_put_number(reply, "cnp_rx", look.counters.cnp_rx);
	vl_telemetry_put_number(reply, "cnp_tx", look.counters.cnp_tx);
	vl_telemetry_put_number(reply, "ecn_ce_rx", look.counters.ecn_ce_rx);
	return 0;
}

static const struct vl_telemetry_topic topics[] = {
	{"/verbline/info", "The command, its version, ports and workers", answer_info},
	{"/verbline/ports", "Names of the ports", answer_ports},
	{"/verbline/port", "What the device of a port counts. Parameter: port number", answer_port},
	{"/verbline/worker", "How busy a worker is. Parameter: worker number", answer_worker},
	{"/verbline/counters", "RDMA counters of a port. Parameter: port number", answer_counters},
	{"/verbline/drops", "Packets dropped on a port, by reason. Parameter: port number",
	 answer_drops},
	{"/verbline/ip", "ARP, ND and ICMP counters of a port. Parameter: port number", answer_ip},
	{"/verbline/pfc", "Pauses received on a port, by class. Parameter: port number",
	 answer_pfc},
	{"/verbline/qp/list", "QPNs on a port, 512 at most. Parameters: port number[,first QPN]",
	 answer_qp_list},
	{"/verbline/qp/info", "A queue pair. Parameters: port number, QPN", answer_qp_info},
	{"/verbline/cc", "Congestion control of a queue pair. Parameters: port number, QPN",
	 answer_cc},
};

int vl_host_telemetry_open(struct vl_host_telemetry *telemetry)
{
	return vl_telemetry_open(topics, sizeof(topics) / sizeof(topics[0]), telemetry);
}
