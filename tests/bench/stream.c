/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * How many RoCE packets one core makes: RC WRITEs of 64 KiB, path MTU 4096, right ICRC in every
 * packet, into a port that takes everything; with 1, 100 and 10,000 queue pairs. Beside it, from
 * the same run, what dpdk-testpmd sends of 64 bytes into the same kind of port. Then through a ring
 * to another core that computes every ICRC anew and checks every sequence.
 *
 *   bench-stream [--json FILE] [--seconds N | --quick] [--no-huge] [--require MPPS]
 *
 * Exit status: 0, 1 a run failed, a packet was wrong, or a bar was missed: --require, 0.35 of
 * testpmd, 10,000 queue pairs at more than 1.25 times the time of one (the latter two only with
 * --require); 2 wrong usage.
 */

#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/endpoint_stage.h"
#include "dataplane/runtime/stream_stage.h"
#include "dataplane/stream/stream.h"
#include "tests/bench/machine.h"
#include "tests/bench/options.h"
#include "tests/bench/testpmd.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <rte_mbuf.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_MB       256
#define MESSAGE         65536u
#define PATH_MTU        4096u
#define RING_SIZE       512u
#define FRAMES          1023u
#define ROUNDS          3
#define TESTPMD_SECONDS 6 /* it takes its time to start, and then prints once a second */
#define TESTPMD_PART    0.35
#define MANY_QPS_PART   0.8 /* 1 / 1.25 */

static const uint32_t flow_counts[] = {1, 100, 10000};
#define FLOW_COUNTS 3

struct results {
	double rates[FLOW_COUNTS]; /* Mpps, best of the rounds */
	double testpmd;            /* Mpps; 0: not there */
	double checked_rate;       /* Mpps through the ring */
	uint64_t checked, wrong;
};

/* ---- The sender ------------------------------------------------------------------------------ */

struct sender {
	struct vl_worker *worker;
	struct rte_mempool *mempool;
	struct vl_endpoint *endpoint;
	struct vl_endpoint_stage stage;
	struct vl_stream_group *group;
	struct vl_stream_stage *streams;
};

static union ibv_gid gid_of(uint8_t host)
{
	return (union ibv_gid){.raw = {[10] = 0xff, 0xff, 10, 0, 0, host}};
}

static struct vl_stream_config stream_config(uint32_t flow_count)
{
	static const struct vl_stream_size size = {MESSAGE, 1};

	return (struct vl_stream_config){
		.name = "bench",
		.kind = VL_STREAM_ROCE,
		.path = {.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
			 .source_mac = {2, 0, 0, 0, 0, 1},
			 .destination_mac = {2, 0, 0, 0, 0, 2},
			 .source_gid = gid_of(1),
			 .destination_gid = gid_of(2),
			 .udp_source_port = 0xc000},
		.source_port_count = 1024,
		.flow_count = flow_count,
		.roce = {.service = IBV_QPT_RC,
			 .verb = IBV_WR_RDMA_WRITE,
			 .path_mtu = PATH_MTU,
			 .local_qpn = 0x1000,
			 .remote_qpn = 0x10000,
			 .remote_qpn_step = 1,
			 .rkey = 0x1234,
			 .remote_address = 0x7f0000000000,
			 .address_step = 1 << 20,
			 .region_length = 1 << 20,
			 .ack_request_packets = 64,
			 .ack_request_messages = 1},
		.sizes = &size,
		.size_count = 1,
	};
}

static void close_sender(struct sender *sender)
{
	vl_worker_destroy(sender->worker);
	vl_endpoint_stage_release(&sender->stage);
	vl_stream_stage_close(sender->streams);
	vl_endpoint_destroy(sender->endpoint);
	vl_stream_group_destroy(sender->group);
	rte_mempool_free(sender->mempool);
}

static int open_sender(struct sender *sender, struct vl_port *port, uint32_t flow_count,
		       struct vl_error *error)
{
	struct vl_endpoint_config config = {
		.device = {.mac = {2, 0, 0, 0, 0, 1},
			   .gid_count = 1,
			   .gids = {{.gid = gid_of(1),
				     .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4}}},
	};
	struct vl_stream_config stream = stream_config(flow_count);
	struct vl_stage stage;

	memset(sender, 0, sizeof(*sender));
	sender->mempool = vl_mempool_create("sender", FRAMES, error);
	sender->worker = vl_worker_create(0, error);
	sender->endpoint = vl_endpoint_create(&config, NULL);
	sender->group = vl_stream_group_create();
	if (!sender->mempool || !sender->worker || !sender->endpoint || !sender->group)
		return -1;
	vl_endpoint_stage_init(&sender->stage, sender->endpoint, port, sender->mempool);
	if (!vl_stream_group_add(sender->group, &stream, vl_worker_now(), error))
		return -1;
	sender->streams =
		vl_stream_stage_open(&sender->stage, sender->group, VL_STREAM_STAGE_FRAMES, error);
	stage = vl_endpoint_stage(&sender->stage);
	return sender->streams ? vl_worker_add_stage(sender->worker, &stage) : -1;
}

struct snapshot {
	struct sender *sender;
	uint64_t frames, now;
};

static void take_snapshot(void *context, uint64_t now)
{
	struct snapshot *snapshot = context;

	snapshot->frames = snapshot->sender->endpoint->counters.tx_frames;
	snapshot->now = now;
}

/* Millions a second. */
static double measure(struct sender *sender, double seconds)
{
	struct snapshot from = {.sender = sender}, to = {.sender = sender};

	usleep(50000);
	vl_worker_call(sender->worker, take_snapshot, &from);
	usleep((useconds_t)(seconds * 1e6));
	vl_worker_call(sender->worker, take_snapshot, &to);
	return to.now > from.now
		       ? (double)(to.frames - from.frames) * 1e3 / (double)(to.now - from.now)
		       : 0;
}

static int run_into_nothing(uint32_t flow_count, double seconds, double *best,
			    struct vl_error *error)
{
	struct vl_port_config config = {0};
	struct sender sender = {0};
	struct vl_port *port;
	int result = -1;
	double rate;

	config.mempools[0] = vl_mempool_create("null", 64, error);
	port = config.mempools[0] ? vl_port_open("null", &config, error) : NULL;
	if (port && !open_sender(&sender, port, flow_count, error) &&
	    !vl_worker_start(sender.worker, error)) {
		rate = measure(&sender, seconds);
		*best = rate > *best ? rate : *best;
		result = 0;
	}
	if (port)
		close_sender(&sender);
	vl_port_close(port);
	rte_mempool_free(config.mempools[0]);
	return result;
}

/* ---- The checker ----------------------------------------------------------------------------- */

struct checker {
	struct vl_worker *worker;
	struct vl_port *port;
	uint32_t *next_psn;
	uint32_t *packet; /* of the message */
	uint32_t flow_count;
	uint64_t checked, wrong;
};

static bool is_right(struct checker *checker, const struct rte_mbuf *mbuf)
{
	struct vl_packet packet;
	uint32_t flow, place;
	bool first, last;

	if (vl_parse(&packet, VL_LINK_ETHERNET, rte_pktmbuf_mtod(mbuf, const uint8_t *),
		     mbuf->data_len, mbuf->data_len) != VL_PARSE_ok ||
	    !vl_icrc_is_right(&packet))
		return false;
	flow = packet.destination_qpn - 0x10000;
	if (flow >= checker->flow_count || packet.psn != checker->next_psn[flow])
		return false;
	checker->next_psn[flow] = (packet.psn + 1) & 0xffffff;
	place = checker->packet[flow]++ % (MESSAGE / PATH_MTU);
	first = place == 0;
	last = place == MESSAGE / PATH_MTU - 1;
	return !!(packet.info->flags & VL_OPCODE_FIRST) == first &&
	       !!(packet.info->flags & VL_OPCODE_LAST) == last && packet.payload_length == PATH_MTU;
}

static uint32_t check_burst(void *context, uint64_t now)
{
	struct checker *checker = context;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(checker->port, 0, mbufs, VL_PORT_BURST);

	(void)now;
	for (uint16_t i = 0; i < count; i++) {
		checker->checked++;
		checker->wrong += !is_right(checker, mbufs[i]);
	}
	rte_pktmbuf_free_bulk(mbufs, count);
	return count;
}

static int run_checked(uint32_t flow_count, double seconds, struct results *results,
		       struct vl_error *error)
{
	struct checker checker = {.flow_count = flow_count};
	struct vl_stage stage = {.run = check_burst, .context = &checker};
	struct vl_port *ends[2];
	struct sender sender = {0};
	int result = -1;

	if (vl_ring_link_open("bench", 1, RING_SIZE, ends, error))
		return -1;
	checker.port = ends[1];
	checker.worker = vl_worker_create(1, error);
	checker.next_psn = calloc(flow_count, sizeof(uint32_t));
	checker.packet = calloc(flow_count, sizeof(uint32_t));
	if (checker.worker && checker.next_psn && checker.packet &&
	    !vl_worker_add_stage(checker.worker, &stage) &&
	    !open_sender(&sender, ends[0], flow_count, error) &&
	    !vl_worker_start(checker.worker, error) && !vl_worker_start(sender.worker, error)) {
		double rate = measure(&sender, seconds);

		results->checked_rate = rate > results->checked_rate ? rate : results->checked_rate;
		result = 0;
		vl_worker_stop(sender.worker);
	}
	vl_worker_destroy(checker.worker);
	results->checked += checker.checked;
	results->wrong += checker.wrong;
	vl_port_close(ends[1]);
	vl_port_close(ends[0]);
	close_sender(&sender);
	free(checker.next_psn);
	free(checker.packet);
	return result;
}

/* ---- testpmd --------------------------------------------------------------------------------- */

static double measure_testpmd(double seconds, bool hugepages)
{
	char prefix[32];
	const char *arguments[] = {"-l",
				   "0,1",
				   "--no-pci",
				   "--no-telemetry",
				   "-m",
				   "128",
				   "--file-prefix",
				   prefix,
				   "--vdev",
				   "net_null0,no-rx=1",
				   hugepages ? "--in-memory" : "--no-huge",
				   "--",
				   "--forward-mode=txonly",
				   "--txpkts=64",
				   "--stats-period=1",
				   "--auto-start",
				   "--total-num-mbufs=4096",
				   NULL};
	struct testpmd testpmd;
	double rate;

	snprintf(prefix, sizeof(prefix), "bench%d", (int)getpid());
	if (testpmd_start(&testpmd, arguments))
		return 0;
	rate = testpmd_best_rate(&testpmd, "Tx-pps", seconds) * 1e-6;
	testpmd_stop(&testpmd);
	return rate;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int run(const struct bench_options *options, struct results *results, struct vl_error *error)
{
	bool testpmd = testpmd_is_installed();

	/* In turn, so that what else the machine does meets all of them. */
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < FLOW_COUNTS; i++) {
			if (run_into_nothing(flow_counts[i], options->seconds / ROUNDS,
					     &results->rates[i], error))
				return -1;
		}
		if (testpmd && (round == 1 || options->seconds > 2)) {
			double rate = measure_testpmd(TESTPMD_SECONDS, vl_eal_has_hugepages());

			results->testpmd = rate > results->testpmd ? rate : results->testpmd;
		}
	}
	for (unsigned int i = 0; i < FLOW_COUNTS; i++) {
		if (run_checked(flow_counts[i], options->seconds / ROUNDS, results, error))
			return -1;
	}
	return 0;
}

static void print_results(const struct results *results)
{
	printf("RC WRITE %u KiB, path MTU %u, one core, right ICRC in every packet (%s)\n",
	       MESSAGE >> 10, PATH_MTU, vl_eal_has_hugepages() ? "hugepages" : "ordinary memory");
	for (unsigned int i = 0; i < FLOW_COUNTS; i++)
		printf("  %5u queue pairs                 %8.2f Mpps, %.1f ns a packet; %.2f of "
		       "one "
		       "queue pair\n",
		       flow_counts[i], results->rates[i], 1e3 / results->rates[i],
		       results->rates[i] / results->rates[0]);
	if (results->testpmd > 0)
		printf("  testpmd txonly, 64 B, null port   %8.2f Mpps; one queue pair is %.2f of "
		       "it\n",
		       results->testpmd, results->rates[0] / results->testpmd);
	else
		printf("  testpmd: not measured, as dpdk-testpmd is not there (Debian: "
		       "dpdk-dev)\n");
	printf("  through a ring, each checked      %8.2f Mpps; %llu packets, %llu of them wrong\n",
	       results->checked_rate, (unsigned long long)results->checked,
	       (unsigned long long)results->wrong);
}

static int write_json(const char *path, const struct results *results)
{
	json_t *root = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:I}", "benchmark", "stream",
				 "qps_1_mpps", results->rates[0], "qps_100_mpps", results->rates[1],
				 "qps_10000_mpps", results->rates[2], "testpmd_64b_mpps",
				 results->testpmd, "checked_mpps", results->checked_rate,
				 "checked_packets", (json_int_t)results->checked, "wrong_packets",
				 (json_int_t)results->wrong);
	int result =
		root ? json_dump_file(root, path, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : -1;

	json_decref(root);
	if (result)
		fprintf(stderr, "bench-stream: cannot write %s\n", path);
	return result;
}

static int judge(const struct bench_options *options, const struct results *results)
{
	int result = 0;

	if (results->wrong || !results->checked) {
		fprintf(stderr, "bench-stream: packets were wrong, or none came\n");
		result = 1;
	}
	if (options->require <= 0)
		return result;
	if (results->rates[0] < options->require) {
		fprintf(stderr, "bench-stream: %.2f Mpps are required\n", options->require);
		result = 1;
	}
	if (results->rates[0] < TESTPMD_PART * results->testpmd) {
		fprintf(stderr, "bench-stream: %.2f of testpmd are required\n", TESTPMD_PART);
		result = 1;
	}
	if (results->rates[2] < MANY_QPS_PART * results->rates[0]) {
		fprintf(stderr, "bench-stream: 10,000 queue pairs cost more than 25 %%\n");
		result = 1;
	}
	return result;
}

static int run_benchmark(const void *context)
{
	const struct bench_options *options = context;
	const struct vl_eal_config eal = {
		.worker_count = 2,
		.memory_mb = MEMORY_MB,
		.hugepages = options->no_huge ? VL_HUGEPAGES_NEVER : VL_HUGEPAGES_IF_FREE,
	};
	struct results results = {0};
	struct vl_error error = {.text = "failed"};
	int result;

	machine_take_priority(1);
	result = vl_eal_start(&eal, &error);
	/* Whatever goes wrong, not for ever, and with this priority. */
	alarm((unsigned int)(options->seconds * 5) + 60);
	if (!result) {
		machine_take_priority(2);
		result = run(options, &results, &error);
		if (!result)
			print_results(&results);
		vl_eal_stop();
	}
	if (result) {
		fprintf(stderr, "bench-stream: %s\n", error.text);
		return 1;
	}
	if (options->json && write_json(options->json, &results))
		return 1;
	return judge(options, &results);
}

int main(int argc, char **argv)
{
	struct bench_options options = {.seconds = 3};

	if (!bench_options_parse(&options, argc, argv, 0.6)) {
		fprintf(stderr, "usage: bench-stream [--json FILE] [--seconds N | --quick] "
				"[--no-huge] [--require MPPS]\n");
		return 2;
	}
	if (options.no_huge)
		return run_benchmark(&options);
	return machine_run_with_hugepages("bench-stream", MEMORY_MB + 128, run_benchmark, &options);
}
