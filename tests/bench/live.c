/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What two cores do live: one RC queue pair over a pair of mbuf rings, path MTU 4096, the ICRC
 * made and checked on every packet. Goodput of 64 KiB WRITEs, rate of 64 byte WRITEs, latency of
 * 8 byte WRITEs; beside it, from the same run, what the cores could do at most if they did nothing
 * but copy each payload and compute a CRC of the copy.
 *
 *   bench-live [--json FILE] [--seconds N | --quick] [--no-huge] [--require GBPS]
 *
 * Exit status: 0, 1 a run failed or the goodput is below --require, 2 wrong usage.
 */

#include "dataplane/histogram.h"
#include "dataplane/runtime/eal.h"
#include "tests/bench/live_limit.h"
#include "tests/bench/machine.h"
#include "tests/bench/options.h"
#include "tests/vdev/live_pair.h"
#include "transport/wire/icrc.h"

#include <rte_cycles.h>

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EAL_MEMORY_MB 256
#define PATH_MTU      4096u
#define WRITE_SIZE    65536u
#define WRITE_DEPTH   4u /* of 64 KiB: what is under way stays in the cache */
#define SMALL_SIZE    64u
#define SMALL_DEPTH   64u
#define MEMORY_SIZE   (WRITE_SIZE * WRITE_DEPTH)
#define MEMPOOL_SIZE  1023u
#define RING_SIZE     512u
/* Few, so that they stay in the cache. */
#define CONSTANT_FRAMES 128u

struct results {
	bool hugepages, has_priority;
	double goodput;                        /* Gb/s of payload */
	double constant_goodput;               /* the same without touching it to send it */
	double frame_rate;                     /* Mpps of data packets */
	double one_core_limit, two_core_limit; /* Gb/s */
	double sender_busy, receiver_busy, constant_sender_busy;
	double message_rate; /* M/s */
	double p50, p99;     /* ns, half a round trip */
	uint64_t retransmitted, drops;
};

/* ---- Writes in a stream ------------------------------------------------------------------ */

/* Keeps depth WRITEs of a size outstanding, each with a place of its own. */
struct stream {
	struct live_side *side, *peer;
	uint32_t size, depth;
	uint32_t place; /* of the next */
	uint64_t posted, completed, failed;
};

static void post_write(struct stream *stream, uint64_t now)
{
	uint64_t offset = (uint64_t)stream->place * stream->size;
	struct ibv_sge sge = {(uintptr_t)stream->side->memory + offset, stream->size,
			      stream->side->mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = stream->posted,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)stream->peer->memory + offset,
			    .rkey = stream->peer->mr->rkey},
	};
	const struct ibv_send_wr *bad;

	if (vl_post_send(stream->side->qp, &wr, &bad, now))
		stream->failed++;
	stream->posted++;
	stream->place = stream->place + 1 < stream->depth ? stream->place + 1 : 0;
}

static void run_stream(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct stream *stream = context;
	struct ibv_wc wc[16];
	int count;

	(void)endpoint;
	while ((count = vl_poll_cq(stream->side->cq, 16, wc)) > 0) {
		for (int i = 0; i < count; i++)
			stream->failed += wc[i].status != IBV_WC_SUCCESS;
		stream->completed += (uint64_t)count;
	}
	while (stream->posted - stream->completed < stream->depth && !stream->failed)
		post_write(stream, now);
}

struct snapshot {
	struct live_side *side;
	struct vl_counters counters;
	struct vl_worker_counters worker;
	uint64_t now;
};

static void take_snapshot(void *context, uint64_t now)
{
	struct snapshot *snapshot = context;

	snapshot->counters = *vl_qp_counters(snapshot->side->qp);
	snapshot->worker = vl_worker_counters(snapshot->side->worker);
	snapshot->now = now;
}

static struct snapshot snapshot_of(struct live_side *side)
{
	struct snapshot snapshot = {.side = side};

	if (vl_worker_call(side->worker, take_snapshot, &snapshot))
		fprintf(stderr, "bench-live: a worker does not answer\n");
	return snapshot;
}

static double busy_part(const struct snapshot *from, const struct snapshot *to)
{
	uint64_t total = to->worker.total_time - from->worker.total_time;

	return total ? (double)(to->worker.busy_time - from->worker.busy_time) / (double)total : 0;
}

struct stream_results {
	double seconds, bytes, frames, messages, sender_busy, receiver_busy;
	uint64_t failed, retransmitted, drops;
};

static uint64_t sum_drops(const struct live_side *side)
{
	const uint64_t *drops = vl_device_drops(side->endpoint->device);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < VL_DROP_COUNT; i++)
		sum += drops[i];
	return sum;
}

static int measure_stream(struct live_pair *pair, uint32_t size, uint32_t depth, double seconds,
			  struct stream_results *results, struct vl_error *error)
{
	struct live_side *sides = pair->sides;
	struct stream stream = {.side = &sides[0], .peer = &sides[1], .size = size, .depth = depth};
	struct snapshot sender[2], receiver[2];

	vl_endpoint_set_application(
		sides[0].endpoint,
		&(struct vl_application){.poll = run_stream, .context = &stream});
	if (live_pair_start(pair, error))
		return -1;
	usleep(200000);
	sender[0] = snapshot_of(&sides[0]);
	receiver[0] = snapshot_of(&sides[1]);
	usleep((useconds_t)(seconds * 1e6));
	receiver[1] = snapshot_of(&sides[1]);
	sender[1] = snapshot_of(&sides[0]);
	live_pair_stop(pair);
	*results = (struct stream_results){
		.seconds = (double)(receiver[1].now - receiver[0].now) * 1e-9,
		.bytes = (double)(receiver[1].counters.data_bytes_rx -
				  receiver[0].counters.data_bytes_rx),
		.frames = (double)(receiver[1].counters.data_frames_rx -
				   receiver[0].counters.data_frames_rx),
		.messages =
			(double)(receiver[1].counters.message_rx - receiver[0].counters.message_rx),
		.sender_busy = busy_part(&sender[0], &sender[1]),
		.receiver_busy = busy_part(&receiver[0], &receiver[1]),
		.failed = stream.failed,
		.retransmitted = sender[1].counters.data_frames_retransmitted,
		.drops = sum_drops(&sides[0]) + sum_drops(&sides[1]),
	};
	if (stream.failed)
		return vl_error_set(error, -1, "work requests failed");
	if (memcmp(sides[0].memory, sides[1].memory, (size_t)size * depth))
		return vl_error_set(error, -1, "the memory of both sides differs");
	return 0;
}

/* ---- Ping-pong --------------------------------------------------------------------------- */

/* Both sides spin on the last byte that the other writes; the first keeps the time. */
struct player {
	struct live_side *side, *peer;
	volatile uint8_t *inbox;
	uint8_t *outbox;
	uint64_t remote;
	uint8_t turn;    /* value awaited */
	bool serves;     /* begins, and measures */
	uint64_t posted; /* TSC */
	uint64_t failed;
	struct vl_histogram *histogram; /* TSC ticks of a round trip */
};

static void post_ping(struct player *player, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)player->outbox, 8, 0};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma = {.remote_addr = player->remote, .rkey = player->peer->mr->rkey},
	};
	const struct ibv_send_wr *bad;

	player->outbox[7] = player->turn;
	player->posted = rte_rdtsc();
	if (vl_post_send(player->side->qp, &wr, &bad, now))
		player->failed++;
}

static void run_player(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct player *player = context;
	struct ibv_wc wc;

	(void)endpoint;
	while (vl_poll_cq(player->side->cq, 1, &wc) == 1)
		player->failed += wc.status != IBV_WC_SUCCESS;
	if (player->failed)
		return;
	if (player->serves && !player->posted) {
		post_ping(player, now);
		return;
	}
	if (player->inbox[7] != player->turn)
		return;
	if (player->serves) {
		vl_histogram_record(player->histogram, rte_rdtsc() - player->posted);
		player->turn = (uint8_t)(player->turn % 255 + 1);
		post_ping(player, now);
	} else {
		post_ping(player, now);
		player->turn = (uint8_t)(player->turn % 255 + 1);
	}
}

static int measure_latency(struct live_pair *pair, double seconds, struct results *results,
			   struct vl_error *error)
{
	struct vl_histogram *histogram = calloc(1, sizeof(*histogram));
	struct player players[2];
	double tick = 1e9 / (double)rte_get_tsc_hz();

	if (!histogram)
		return vl_error_set(error, -1, "no memory");
	for (unsigned int i = 0; i < 2; i++) {
		struct live_side *side = &pair->sides[i], *peer = &pair->sides[!i];

		memset(side->memory, 0, 4096);
		players[i] = (struct player){
			.side = side,
			.peer = peer,
			.inbox = side->memory,
			.outbox = side->memory + 2048,
			.remote = (uintptr_t)peer->memory,
			.turn = 1,
			.serves = i == 0,
			.histogram = histogram,
		};
		vl_endpoint_set_application(
			side->endpoint,
			&(struct vl_application){.poll = run_player, .context = &players[i]});
	}
	if (live_pair_start(pair, error)) {
		free(histogram);
		return -1;
	}
	usleep((useconds_t)(seconds * 1e6));
	live_pair_stop(pair);
	results->p50 = (double)vl_histogram_percentile(histogram, 0.5) * tick / 2;
	results->p99 = (double)vl_histogram_percentile(histogram, 0.99) * tick / 2;
	free(histogram);
	if (players[0].failed || players[1].failed)
		return vl_error_set(error, -1, "work requests failed");
	return 0;
}

/* ---- All of it --------------------------------------------------------------------------- */

static int run_with_pair(struct live_pair *pair, uint8_t *memory[2], double seconds,
			 struct results *results, struct vl_error *error)
{
	struct live_pair_config config = {
		.mempool_size = MEMPOOL_SIZE,
		.ring_size = RING_SIZE,
		.queue_depth = SMALL_DEPTH,
		.memory = {memory[0], memory[1]},
		.memory_size = MEMORY_SIZE,
		.timeout = 20,
	};
	struct stream_results stream;

	/* A queue pair for each, as the stream leaves work behind. */
	if (live_pair_open(pair, &config, error) ||
	    measure_stream(pair, WRITE_SIZE, WRITE_DEPTH, seconds, &stream, error))
		return -1;
	results->goodput = stream.bytes * 8e-9 / stream.seconds;
	results->frame_rate = stream.frames * 1e-6 / stream.seconds;
	results->sender_busy = stream.sender_busy;
	results->receiver_busy = stream.receiver_busy;
	results->retransmitted = stream.retransmitted;
	results->drops = stream.drops;
	live_pair_close(pair);
	config.constant_period = PATH_MTU;
	config.constant_frames = CONSTANT_FRAMES;
	config.ring_size = CONSTANT_FRAMES / 2;
	if (live_pair_open(pair, &config, error) ||
	    measure_stream(pair, WRITE_SIZE, WRITE_DEPTH, seconds, &stream, error))
		return -1;
	results->constant_goodput = stream.bytes * 8e-9 / stream.seconds;
	results->constant_sender_busy = stream.sender_busy;
	results->retransmitted += stream.retransmitted;
	results->drops += stream.drops;
	live_pair_close(pair);
	config.constant_period = 0;
	config.ring_size = RING_SIZE;
	if (live_pair_open(pair, &config, error) ||
	    measure_stream(pair, SMALL_SIZE, SMALL_DEPTH, seconds / 3, &stream, error))
		return -1;
	results->message_rate = stream.messages * 1e-6 / stream.seconds;
	live_pair_close(pair);
	if (live_pair_open(pair, &config, error))
		return -1;
	return measure_latency(pair, seconds / 3, results, error);
}

static int measure_limits(uint8_t *memory[2], double seconds, struct results *results,
			  struct vl_error *error)
{
	const struct live_limit_config config = {
		.source = memory[0],
		.sink = memory[1],
		.memory_size = MEMORY_SIZE,
		.packet = PATH_MTU,
		.mempool_size = MEMPOOL_SIZE,
		.ring_size = RING_SIZE,
		.seconds = seconds,
	};
	int result = live_limit_one_core(&config, &results->one_core_limit, error);

	return result ? result : live_limit_two_cores(&config, &results->two_core_limit, error);
}

static int run(double seconds, struct results *results, struct vl_error *error)
{
	uint8_t *memory[2];
	struct live_pair pair = {0};
	int result;

	for (unsigned int i = 0; i < 2; i++) {
		memory[i] = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (memory[i] == MAP_FAILED)
			return vl_error_set(error, -1, "no memory");
	}
	/* Repeats with the path MTU, as the payload of a generator does. */
	for (uint32_t i = 0; i < MEMORY_SIZE; i++)
		memory[0][i] = (uint8_t)(i % PATH_MTU * 2654435761u >> 24);
	results->hugepages = vl_eal_has_hugepages();
	result = measure_limits(memory, seconds / 3, results, error);
	if (!result)
		result = run_with_pair(&pair, memory, seconds, results, error);
	live_pair_close(&pair);
	for (unsigned int i = 0; i < 2; i++)
		munmap(memory[i], MEMORY_SIZE);
	return result;
}

static void print_results(const struct results *results)
{
	printf("two workers, a pair of mbuf rings, path MTU %u, ICRC made and checked (%s), %s, "
	       "%s\n",
	       PATH_MTU, vl_crc32_implementation(),
	       results->hugepages ? "hugepages" : "ordinary memory",
	       results->has_priority ? "real-time priority" : "ordinary priority");
	printf("  WRITE %u KiB                      %8.2f Gb/s goodput, %.3f M data packets/s\n",
	       WRITE_SIZE >> 10, results->goodput, results->frame_rate);
	printf("    busy                            %8.0f %% of the time the sender, %.0f %% the "
	       "receiver\n",
	       results->sender_busy * 100, results->receiver_busy * 100);
	printf("  one core: copy, CRC of the copy   %8.2f Gb/s; the goodput is %.2f of it\n",
	       results->one_core_limit, results->goodput / results->one_core_limit);
	printf("  and on the other core: CRC, copy  %8.2f Gb/s; the goodput is %.2f of it\n",
	       results->two_core_limit, results->goodput / results->two_core_limit);
	printf("  WRITE %u KiB of constant payload  %8.2f Gb/s goodput; the sender is busy %.0f "
	       "%%\n",
	       WRITE_SIZE >> 10, results->constant_goodput, results->constant_sender_busy * 100);
	printf("  WRITE %u B                        %8.3f M messages/s\n", SMALL_SIZE,
	       results->message_rate);
	printf("  WRITE 8 B, ping-pong              %8.0f ns p50, %.0f ns p99, half a round trip\n",
	       results->p50, results->p99);
	printf("  retransmitted %llu, dropped %llu\n", (unsigned long long)results->retransmitted,
	       (unsigned long long)results->drops);
}

static int write_json(const char *path, const struct results *results)
{
	json_t *root = json_pack("{s:s, s:b, s:b, s:s, s:i, s:i}", "benchmark", "live", "hugepages",
				 results->hugepages, "realtime_priority", results->has_priority,
				 "crc32", vl_crc32_implementation(), "path_mtu_bytes", PATH_MTU,
				 "write_bytes", WRITE_SIZE);
	const struct {
		const char *name;
		double value;
	} numbers[] = {
		{"goodput_gbps", results->goodput},
		{"constant_goodput_gbps", results->constant_goodput},
		{"data_mpps", results->frame_rate},
		{"sender_busy", results->sender_busy},
		{"receiver_busy", results->receiver_busy},
		{"one_core_limit_gbps", results->one_core_limit},
		{"ratio_to_one_core_limit", results->goodput / results->one_core_limit},
		{"two_core_limit_gbps", results->two_core_limit},
		{"ratio_to_two_core_limit", results->goodput / results->two_core_limit},
		{"write_64b_mmps", results->message_rate},
		{"write_8b_latency_p50_ns", results->p50},
		{"write_8b_latency_p99_ns", results->p99},
		{"data_frames_retransmitted", (double)results->retransmitted},
		{"drops", (double)results->drops},
	};
	int result = root ? 0 : -1;

	for (unsigned int i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !result; i++)
		result = json_object_set_new(root, numbers[i].name, json_real(numbers[i].value));
	if (!result)
		result = json_dump_file(root, path, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	json_decref(root);
	if (result)
		fprintf(stderr, "bench-live: cannot write %s\n", path);
	return result;
}

static int run_benchmark(const void *context)
{
	const struct bench_options *options = context;
	const struct vl_eal_config eal = {
		.worker_count = 2,
		.memory_mb = EAL_MEMORY_MB,
		.hugepages = options->no_huge ? VL_HUGEPAGES_NEVER : VL_HUGEPAGES_IF_FREE,
	};
	struct results results = {.has_priority = machine_take_priority(1)};
	struct vl_error error = {.text = "failed"};
	int result = vl_eal_start(&eal, &error);

	/* Whatever goes wrong, not for ever, and with this priority. */
	alarm((unsigned int)(options->seconds * 5) + 30);
	if (!result) {
		/* The control thread goes before the workers that it looks at. */
		machine_take_priority(2);
		if (*vl_eal_notice())
			printf("%s\n", vl_eal_notice());
		result = run(options->seconds, &results, &error);
		vl_eal_stop();
	}
	if (result) {
		fprintf(stderr, "bench-live: %s\n", error.text);
		return 1;
	}
	print_results(&results);
	if (options->json && write_json(options->json, &results))
		return 1;
	if (results.goodput < options->require) {
		fprintf(stderr, "bench-live: %.2f Gb/s are required\n", options->require);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_options options = {.seconds = 3};

	if (!bench_options_parse(&options, argc, argv, 0.3)) {
		fprintf(stderr,
			"usage: bench-live [--json FILE] [--seconds N | --quick] [--no-huge] "
			"[--require GBPS]\n");
		return 2;
	}
	if (options.no_huge)
		return run_benchmark(&options);
	return machine_run_with_hugepages("bench-live", EAL_MEMORY_MB, run_benchmark, &options);
}
