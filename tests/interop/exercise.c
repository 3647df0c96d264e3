// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the verbline authors

/*
 * The RC operations that the packaged tools of rdma-core never send: immediates and invalidates on
 * empty, single- and multi-packet messages, atomics, and requests that the responder must refuse.
 * Over librdmacm, for the Linux guest; apps/endpoint/exercise.h states the same conversation.
 *
 *   exercise server ADDRESS
 *   exercise client ADDRESS [CASE]
 *
 * Without a case the client does everything that must succeed, and compares the data; exit status 0
 * if all did. With one it sends a request that must be refused, and says how that was completed,
 * which is for its caller to judge; exit status 0 if it was.
 */
#include <endian.h>
#include <inttypes.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT            "18516"
#define QUEUE_DEPTH     32
#define RECEIVE_SIZE    8192        /* each receive buffer */
#define TARGET_SIZE     65536       /* what the client may read and write */
#define SINK_OFFSET     32768       /* client: where READs and atomics put their results */
#define ATOMIC_OFFSET   16384       /* in the target */
#define WINDOW_SIZE     4096        /* of window i, at offset 4096 * (i + 1) of the target */
#define MULTI_SIZE      5000        /* several packets at any path MTU */
#define FINISH          0xffffffffu /* immediate value that ends the server */
#define FIRST_IMMEDIATE 0x11223300u /* of the client's first message; the next have the next */
#define WAIT_SECONDS    20
/* Large and recognizable: a request with it is refused by its length alone. */
#define BEYOND ((uint64_t)64 << 20)

/* What the server tells the client in its first message; big-endian. */
struct target {
	uint64_t address;
	uint32_t rkey;
	uint32_t window_rkey[2]; /* for the two sends with invalidate */
	uint32_t read_only_rkey; /* of the same memory */
	uint32_t write_only_rkey;
	uint32_t reserved;
};

static struct rdma_cm_id *id;
static uint8_t *memory; /* client: source and sink; server: target, then receives */
static struct ibv_mr *mr;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The byte at an offset of every message, and of what is written. */
static uint8_t pattern(size_t offset)
{
	return (uint8_t)(offset * 7 + 1);
}

static bool is_pattern(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != pattern(i))
			return false;
	return true;
}

/* Waits for a completion; false when none came. */
static bool wait_completion(struct ibv_cq *cq, struct ibv_wc *wc)
{
	time_t end = time(NULL) + WAIT_SECONDS;

	while (time(NULL) < end) {
		int count = ibv_poll_cq(cq, 1, wc);

		if (count < 0)
			die("ibv_poll_cq");
		if (count > 0)
			return true;
	}
	return false;
}

/* Posts one request on memory at an offset and reports how it ended. */
static enum ibv_wc_status execute(const char *name, struct ibv_send_wr *wr, size_t offset,
				  size_t length)
{
	struct ibv_sge sge = {(uintptr_t)memory + offset, (uint32_t)length, mr->lkey};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (wr->opcode != IBV_WR_BIND_MW) {
		wr->sg_list = &sge;
		wr->num_sge = length > 0;
	}
	wr->send_flags |= IBV_SEND_SIGNALED;
	if (ibv_post_send(id->qp, wr, &bad))
		die(name);
	if (!wait_completion(id->send_cq, &wc)) {
		printf("%-24s no completion\n", name);
		return IBV_WC_GENERAL_ERR;
	}
	printf("%-24s %s\n", name, ibv_wc_status_str(wc.status));
	return wc.status;
}

static void connect_id(const char *address, bool passive)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP};
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = QUEUE_DEPTH,
			.max_recv_wr = QUEUE_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_addrinfo *info;
	struct rdma_cm_id *listener;

	if (passive)
		hints.ai_flags = RAI_PASSIVE;
	if (rdma_getaddrinfo(address, PORT, &hints, &info))
		die("rdma_getaddrinfo");
	if (!passive) {
		if (rdma_create_ep(&id, info, NULL, &attr))
			die("rdma_create_ep");
		return;
	}
	if (rdma_create_ep(&listener, info, NULL, &attr) || rdma_listen(listener, 1))
		die("rdma_listen");
	printf("listening\n");
	if (rdma_get_request(listener, &id))
		die("rdma_get_request");
}

static void allocate(size_t size)
{
	if (posix_memalign((void **)&memory, 4096, size))
		die("posix_memalign");
	for (size_t i = 0; i < size; i++)
		memory[i] = pattern(i);
}

static struct ibv_mr *register_memory(size_t size, int access)
{
	struct ibv_mr *region = ibv_reg_mr(id->pd, memory, size, access);

	if (!region)
		die("ibv_reg_mr");
	return region;
}

static void post_receive(size_t offset)
{
	struct ibv_sge sge = {(uintptr_t)memory + offset, RECEIVE_SIZE, mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = offset, .sg_list = &sge, .num_sge = 1}, *bad;

	if (ibv_post_recv(id->qp, &wr, &bad))
		die("ibv_post_recv");
}

/* Binds a memory window over part of the target; returns its rkey, or 0. */
static uint32_t bind_window(size_t offset)
{
	struct ibv_mw *window = ibv_alloc_mw(id->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};

	if (!window)
		return 0;
	wr.bind_mw.mw = window;
	wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
	wr.bind_mw.bind_info.mr = mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)memory + offset;
	wr.bind_mw.bind_info.length = WINDOW_SIZE;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	return execute("bind window", &wr, 0, 0) == IBV_WC_SUCCESS ? wr.bind_mw.rkey : 0;
}

static struct rdma_conn_param connection_parameters(void)
{
	return (struct rdma_conn_param){.responder_resources = 4,
					.initiator_depth = 4,
					.retry_count = 5,
					.rnr_retry_count = 7};
}

/* Takes messages until FINISH or an error. Returns the number with wrong data. */
static int take_messages(void)
{
	struct ibv_wc wc;
	int failures = 0;

	while (wait_completion(id->recv_cq, &wc)) {
		printf("receive: %s", ibv_wc_status_str(wc.status));
		if (wc.status != IBV_WC_SUCCESS) {
			printf("\n");
			return failures;
		}
		/* WRITE with immediate puts its data elsewhere. */
		bool right = wc.opcode != IBV_WC_RECV || is_pattern(memory + wc.wr_id, wc.byte_len);

		printf(", opcode %d, %u bytes", wc.opcode, wc.byte_len);
		if (wc.wc_flags & IBV_WC_WITH_IMM)
			printf(", immediate 0x%08x", be32toh(wc.imm_data));
		if (wc.wc_flags & IBV_WC_WITH_INV)
			printf(", invalidated 0x%08x", wc.invalidated_rkey);
		printf("%s\n", right ? "" : ", WRONG DATA");
		failures += !right;
		if ((wc.wc_flags & IBV_WC_WITH_IMM) && be32toh(wc.imm_data) == FINISH)
			return failures;
		memset(memory + wc.wr_id, 0, RECEIVE_SIZE);
		post_receive(wc.wr_id);
	}
	printf("receive: no completion\n");
	return failures + 1;
}

static int run_server(const char *address)
{
	struct rdma_conn_param param = connection_parameters();
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND};
	int failures;

	connect_id(address, true);
	allocate(TARGET_SIZE + QUEUE_DEPTH * RECEIVE_SIZE);
	mr = register_memory(TARGET_SIZE + QUEUE_DEPTH * RECEIVE_SIZE,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
				     IBV_ACCESS_MW_BIND);
	for (size_t i = 0; i < QUEUE_DEPTH; i++)
		post_receive(TARGET_SIZE + i * RECEIVE_SIZE);
	if (rdma_accept(id, &param))
		die("rdma_accept");

	struct target target = {
		.address = htobe64((uintptr_t)memory),
		.rkey = htobe32(mr->rkey),
		.window_rkey = {htobe32(bind_window(WINDOW_SIZE)),
				htobe32(bind_window(2 * WINDOW_SIZE))},
		.read_only_rkey =
			htobe32(register_memory(TARGET_SIZE, IBV_ACCESS_REMOTE_READ)->rkey),
		.write_only_rkey =
			htobe32(register_memory(TARGET_SIZE,
						IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
					->rkey),
	};

	memcpy(memory, &target, sizeof(target));
	if (execute("announce target", &send, 0, sizeof(target)) != IBV_WC_SUCCESS)
		return 1;
	failures = take_messages();
	rdma_disconnect(id);
	return failures ? 1 : 0;
}

/* A READ of what was written before. Returns 0 when the data are the same. */
static int read_back(const struct target *target, size_t length)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_READ};

	wr.wr.rdma.remote_addr = target->address;
	wr.wr.rdma.rkey = target->rkey;
	memset(memory + SINK_OFFSET, 0, length);
	if (execute("read back", &wr, SINK_OFFSET, length) != IBV_WC_SUCCESS)
		return 1;
	if (!is_pattern(memory + SINK_OFFSET, length)) {
		printf("read back: WRONG DATA\n");
		return 1;
	}
	return 0;
}

static int run_messages(const struct target *target)
{
	struct {
		const char *name;
		enum ibv_wr_opcode opcode;
		size_t length;
	} const messages[] = {
		{"send empty", IBV_WR_SEND, 0},
		{"send", IBV_WR_SEND, 61},
		{"send multi", IBV_WR_SEND, MULTI_SIZE},
		{"send imm empty", IBV_WR_SEND_WITH_IMM, 0},
		{"send imm", IBV_WR_SEND_WITH_IMM, 62},
		{"send imm multi", IBV_WR_SEND_WITH_IMM, MULTI_SIZE},
		{"write empty", IBV_WR_RDMA_WRITE, 0},
		{"write", IBV_WR_RDMA_WRITE, 63},
		{"write multi", IBV_WR_RDMA_WRITE, MULTI_SIZE},
		{"write imm empty", IBV_WR_RDMA_WRITE_WITH_IMM, 0},
		{"write imm", IBV_WR_RDMA_WRITE_WITH_IMM, 64},
		{"write imm multi", IBV_WR_RDMA_WRITE_WITH_IMM, MULTI_SIZE},
		{"read empty", IBV_WR_RDMA_READ, 0},
		{"read", IBV_WR_RDMA_READ, 65},
		{"read multi", IBV_WR_RDMA_READ, MULTI_SIZE},
	};
	int failures = 0;

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		struct ibv_send_wr wr = {.opcode = messages[i].opcode,
					 .imm_data = htobe32(FIRST_IMMEDIATE + (uint32_t)i)};
		bool is_read = wr.opcode == IBV_WR_RDMA_READ;

		wr.wr.rdma.remote_addr = target->address;
		wr.wr.rdma.rkey = target->rkey;
		failures += execute(messages[i].name, &wr, is_read ? SINK_OFFSET : 0,
				    messages[i].length) != IBV_WC_SUCCESS;
		if (wr.opcode == IBV_WR_RDMA_WRITE || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			failures += read_back(target, messages[i].length);
	}
	return failures;
}

/* An atomic that finds what it must. */
static int run_atomic(const char *name, struct ibv_send_wr *wr, uint64_t expected)
{
	uint64_t original;

	if (execute(name, wr, SINK_OFFSET, sizeof(original)) != IBV_WC_SUCCESS)
		return 1;
	memcpy(&original, memory + SINK_OFFSET, sizeof(original));
	if (original == expected)
		return 0;
	printf("%s: found 0x%016" PRIx64 " instead of 0x%016" PRIx64 "\n", name, original,
	       expected);
	return 1;
}

static int run_atomics(const struct target *target)
{
	struct ibv_send_wr add = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct ibv_send_wr swap = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP};
	uint64_t value;
	int failures;

	/* As the server filled its memory. */
	memcpy(&value, memory + ATOMIC_OFFSET, sizeof(value));
	add.wr.atomic.remote_addr = swap.wr.atomic.remote_addr = target->address + ATOMIC_OFFSET;
	add.wr.atomic.rkey = swap.wr.atomic.rkey = target->rkey;
	add.wr.atomic.compare_add = 0x0102030405060708;
	failures = run_atomic("fetch and add", &add, value);
	swap.wr.atomic.compare_add = value + add.wr.atomic.compare_add;
	swap.wr.atomic.swap = 0x1122334455667788;
	failures += run_atomic("compare and swap", &swap, swap.wr.atomic.compare_add);
	return failures + run_atomic("compare and swap again", &swap, swap.wr.atomic.swap);
}

/* The operations that must succeed. Returns the number that did not. */
static int run_accepted(const struct target *target)
{
	int failures = run_messages(target) + run_atomics(target);

	for (int i = 0; i < 2; i++) {
		struct ibv_send_wr write = {.opcode = IBV_WR_RDMA_WRITE};
		struct ibv_send_wr send = {.opcode = IBV_WR_SEND_WITH_INV};

		if (!target->window_rkey[i]) {
			printf("window %d: not offered\n", i);
			failures++;
			continue;
		}
		write.wr.rdma.remote_addr = target->address + WINDOW_SIZE * (uint64_t)(i + 1);
		write.wr.rdma.rkey = target->window_rkey[i];
		failures += execute("write by window", &write, 0, 66) != IBV_WC_SUCCESS;
		send.invalidate_rkey = target->window_rkey[i];
		failures += execute("send inv", &send, 0, i ? MULTI_SIZE : 67) != IBV_WC_SUCCESS;
	}
	return failures;
}

/* Fills a request that the responder must refuse, and its length; false: no such case. */
static bool refused_request(const char *name, const struct target *target, struct ibv_send_wr *wr,
			    size_t *length)
{
	*length = 64;
	wr->opcode = !strncmp(name, "read-", 5)     ? IBV_WR_RDMA_READ
		     : !strncmp(name, "atomic-", 7) ? IBV_WR_ATOMIC_FETCH_AND_ADD
						    : IBV_WR_RDMA_WRITE;
	wr->wr.rdma.remote_addr = target->address;
	wr->wr.rdma.rkey = target->rkey;
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = target->address;
		wr->wr.atomic.rkey = target->rkey;
		wr->wr.atomic.compare_add = 1;
		*length = 8;
	}

	if (!strcmp(name, "write-bad-rkey") || !strcmp(name, "read-bad-rkey")) {
		wr->wr.rdma.rkey ^= 0x55;
	} else if (!strcmp(name, "write-multi-bad-rkey")) {
		wr->wr.rdma.rkey ^= 0x55;
		*length = MULTI_SIZE;
	} else if (!strcmp(name, "write-out-of-bounds") || !strcmp(name, "read-out-of-bounds")) {
		wr->wr.rdma.remote_addr += BEYOND;
	} else if (!strcmp(name, "write-no-permission")) {
		wr->wr.rdma.rkey = target->read_only_rkey;
	} else if (!strcmp(name, "read-no-permission")) {
		wr->wr.rdma.rkey = target->write_only_rkey;
	} else if (!strcmp(name, "atomic-bad-rkey")) {
		wr->wr.atomic.rkey ^= 0x55;
	} else if (!strcmp(name, "atomic-no-permission")) {
		wr->wr.atomic.rkey = target->write_only_rkey;
	} else if (!strcmp(name, "send-too-long")) {
		wr->opcode = IBV_WR_SEND;
		*length = RECEIVE_SIZE + 1;
	} else if (!strcmp(name, "send-inv-bad-rkey")) {
		wr->opcode = IBV_WR_SEND_WITH_INV;
		wr->invalidate_rkey = target->rkey ^ 0x55;
	} else {
		return false;
	}
	return true;
}

/* Returns 0 when the request was completed at all. */
static int run_refused(const char *name, const struct target *target)
{
	struct ibv_send_wr wr = {0};
	size_t length;

	if (!refused_request(name, target, &wr, &length)) {
		fprintf(stderr, "exercise: no case %s\n", name);
		return 1;
	}
	return execute(name, &wr, 0, length) == IBV_WC_GENERAL_ERR;
}

static int run_client(const char *address, const char *name)
{
	struct rdma_conn_param param = connection_parameters();
	struct ibv_send_wr finish = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(FINISH)};
	struct target target;
	struct ibv_wc wc;
	int failures;

	connect_id(address, false);
	allocate(TARGET_SIZE);
	mr = register_memory(TARGET_SIZE, IBV_ACCESS_LOCAL_WRITE);
	post_receive(SINK_OFFSET);
	if (rdma_connect(id, &param))
		die("rdma_connect");
	if (!wait_completion(id->recv_cq, &wc) || wc.status != IBV_WC_SUCCESS)
		die("receiving the target");
	memcpy(&target, memory + SINK_OFFSET, sizeof(target));
	target.address = be64toh(target.address);
	target.rkey = be32toh(target.rkey);
	target.window_rkey[0] = be32toh(target.window_rkey[0]);
	target.window_rkey[1] = be32toh(target.window_rkey[1]);
	target.read_only_rkey = be32toh(target.read_only_rkey);
	target.write_only_rkey = be32toh(target.write_only_rkey);

	if (name)
		failures = run_refused(name, &target);
	else
		failures = run_accepted(&target) +
			   (execute("finish", &finish, 0, 0) != IBV_WC_SUCCESS);
	rdma_disconnect(id);
	return failures ? 1 : 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "server"))
		return run_server(argv[2]);
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "client"))
		return run_client(argv[2], argc == 4 ? argv[3] : NULL);
	fprintf(stderr, "usage: exercise server ADDRESS | client ADDRESS [CASE]\n");
	return 2;
}
