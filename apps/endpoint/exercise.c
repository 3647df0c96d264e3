// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the verbline authors

#include "apps/endpoint/exercise.h"

#include "apps/endpoint/status.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVE_SIZE    8192  /* of each receive buffer */
#define TARGET_SIZE     65536 /* what the client may read and write */
#define SINK_OFFSET     32768 /* client: where READs and atomics put their results */
#define ATOMIC_OFFSET   16384 /* in the target */
#define WINDOW_SIZE     4096  /* of window i, at offset 4096 * (i + 1) of the target */
#define WINDOW_COUNT    2
#define MULTI_SIZE      5000        /* several packets at any path MTU */
#define FIRST_IMMEDIATE 0x11223300u /* of the client's first message; the next have the next */
#define BEYOND          (UINT64_C(64) << 20)
#define ADDEND          UINT64_C(0x0102030405060708)
#define SWAPPED         UINT64_C(0x1122334455667788)

/* What the server tells the client in its first message; big-endian. */
struct target {
	uint64_t address;
	uint32_t rkey;
	uint32_t window_rkey[WINDOW_COUNT];
	uint32_t read_only_rkey; /* of the same memory */
	uint32_t write_only_rkey;
	uint32_t reserved;
};

/* What a step of the client does besides sending its request. */
enum step_check {
	CHECK_NONE,
	CHECK_READ,        /* the sink then holds the pattern */
	CHECK_FIRST_VALUE, /* the atomic finds what the server filled its memory with */
	CHECK_SUM,         /* ... that plus ADDEND */
	CHECK_SWAPPED,     /* ... SWAPPED */
};

struct step {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t length;
	enum step_check check;
	uint8_t window; /* 1..WINDOW_COUNT: by this window's key; 0: the region's */
};

static const struct step accepted_steps[] = {
	{"send empty", IBV_WR_SEND, 0, CHECK_NONE, 0},
	{"send", IBV_WR_SEND, 61, CHECK_NONE, 0},
	{"send multi", IBV_WR_SEND, MULTI_SIZE, CHECK_NONE, 0},
	{"send imm empty", IBV_WR_SEND_WITH_IMM, 0, CHECK_NONE, 0},
	{"send imm", IBV_WR_SEND_WITH_IMM, 62, CHECK_NONE, 0},
	{"send imm multi", IBV_WR_SEND_WITH_IMM, MULTI_SIZE, CHECK_NONE, 0},
	{"write empty", IBV_WR_RDMA_WRITE, 0, CHECK_NONE, 0},
	{"write", IBV_WR_RDMA_WRITE, 63, CHECK_NONE, 0},
	{"read back", IBV_WR_RDMA_READ, 63, CHECK_READ, 0},
	{"write multi", IBV_WR_RDMA_WRITE, MULTI_SIZE, CHECK_NONE, 0},
	{"read back", IBV_WR_RDMA_READ, MULTI_SIZE, CHECK_READ, 0},
	{"write imm empty", IBV_WR_RDMA_WRITE_WITH_IMM, 0, CHECK_NONE, 0},
	{"write imm", IBV_WR_RDMA_WRITE_WITH_IMM, 64, CHECK_NONE, 0},
	{"write imm multi", IBV_WR_RDMA_WRITE_WITH_IMM, MULTI_SIZE, CHECK_NONE, 0},
	{"read empty", IBV_WR_RDMA_READ, 0, CHECK_NONE, 0},
	{"read", IBV_WR_RDMA_READ, 65, CHECK_READ, 0},
	{"read multi", IBV_WR_RDMA_READ, MULTI_SIZE, CHECK_READ, 0},
	{"fetch and add", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, CHECK_FIRST_VALUE, 0},
	{"compare and swap", IBV_WR_ATOMIC_CMP_AND_SWP, 8, CHECK_SUM, 0},
	{"compare and swap again", IBV_WR_ATOMIC_CMP_AND_SWP, 8, CHECK_SWAPPED, 0},
	{"write by window", IBV_WR_RDMA_WRITE, 66, CHECK_NONE, 1},
	{"send inv", IBV_WR_SEND_WITH_INV, 67, CHECK_NONE, 1},
	{"write by window", IBV_WR_RDMA_WRITE, 66, CHECK_NONE, 2},
	{"send inv", IBV_WR_SEND_WITH_INV, MULTI_SIZE, CHECK_NONE, 2},
	{"finish", IBV_WR_SEND_WITH_IMM, 0, CHECK_NONE, 0},
};
#define ACCEPTED_COUNT (sizeof(accepted_steps) / sizeof(accepted_steps[0]))

const char *const vl_exercise_refused_requests[] = {
	"write-bad-rkey",
	"write-multi-bad-rkey",
	"write-out-of-bounds",
	"write-no-permission",
	"read-bad-rkey",
	"read-out-of-bounds",
	"read-no-permission",
	"atomic-bad-rkey",
	"atomic-no-permission",
	"atomic-misaligned",
	"send-too-long",
	"send-inv-bad-rkey",
	NULL,
};

struct vl_exercise {
	struct vl_exercise_config config;
	struct vl_qp *qp;
	uint8_t *memory; /* client: source and sink; server: target, then receives */
	struct ibv_mr *mr, *read_only_mr, *write_only_mr;
	struct ibv_mw *windows[WINDOW_COUNT];
	struct target target; /* client: in host order */
	uint32_t step;        /* of what is under way: the client's, or the server's announcement */
	uint32_t failures;
	bool is_over;
};

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

static void __attribute__((format(printf, 2, 3)))
say(const struct vl_exercise *exercise, const char *format, ...)
{
	char line[160];
	va_list arguments;

	if (!exercise->config.say)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	exercise->config.say(exercise->config.context, line);
}

/* Ends the conversation early, with what was wrong. */
static void fail(struct vl_exercise *exercise, const char *what)
{
	say(exercise, "%s", what);
	exercise->failures++;
	exercise->is_over = true;
}

static size_t memory_size(const struct vl_exercise *exercise)
{
	return TARGET_SIZE +
	       (exercise->config.is_server ? (size_t)VL_EXERCISE_DEPTH * RECEIVE_SIZE : 0);
}

static int register_memory(struct vl_exercise *exercise)
{
	struct vl_pd *pd = exercise->config.pd;
	uint8_t *memory = exercise->memory;
	unsigned int access = IBV_ACCESS_LOCAL_WRITE;
	int error = 0;

	if (exercise->config.is_server)
		access |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	exercise->mr =
		vl_reg_mr(pd, memory, memory_size(exercise), (uintptr_t)memory, access, &error);
	if (!exercise->mr || !exercise->config.is_server)
		return error;
	exercise->read_only_mr = vl_reg_mr(pd, memory, TARGET_SIZE, (uintptr_t)memory,
					   IBV_ACCESS_REMOTE_READ, &error);
	if (!exercise->read_only_mr)
		return error;
	exercise->write_only_mr =
		vl_reg_mr(pd, memory, TARGET_SIZE, (uintptr_t)memory,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &error);
	for (int i = 0; i < WINDOW_COUNT && !error; i++)
		exercise->windows[i] = vl_alloc_mw(pd, IBV_MW_TYPE_2, &error);
	return error;
}

static bool is_request(const char *name)
{
	for (const char *const *known = vl_exercise_refused_requests; *known; known++)
		if (!strcmp(*known, name))
			return true;
	return false;
}

struct vl_exercise *vl_exercise_open(const struct vl_exercise_config *config, int *error)
{
	struct vl_exercise *exercise;
	int result = -ENOMEM;

	if (config->refused && !is_request(config->refused)) {
		*error = -EINVAL;
		return NULL;
	}
	exercise = calloc(1, sizeof(*exercise));
	if (exercise) {
		exercise->config = *config;
		exercise->memory = aligned_alloc(4096, memory_size(exercise));
	}
	if (exercise && exercise->memory) {
		for (size_t i = 0; i < memory_size(exercise); i++)
			exercise->memory[i] = pattern(i);
		result = register_memory(exercise);
	}
	if (result) {
		vl_exercise_close(exercise);
		*error = result;
		return NULL;
	}
	return exercise;
}

void vl_exercise_close(struct vl_exercise *exercise)
{
	if (!exercise)
		return;
	for (int i = 0; i < WINDOW_COUNT; i++)
		if (exercise->windows[i])
			vl_dealloc_mw(exercise->windows[i]);
	if (exercise->write_only_mr)
		vl_dereg_mr(exercise->write_only_mr);
	if (exercise->read_only_mr)
		vl_dereg_mr(exercise->read_only_mr);
	if (exercise->mr)
		vl_dereg_mr(exercise->mr);
	free(exercise->memory);
	free(exercise);
}

static int post_receive(struct vl_exercise *exercise, size_t offset)
{
	struct ibv_sge sge = {(uintptr_t)exercise->memory + offset, RECEIVE_SIZE,
			      exercise->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = offset, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	return vl_post_recv(exercise->qp, &wr, &bad);
}

int vl_exercise_prepare(struct vl_exercise *exercise, struct vl_qp *qp)
{
	int error = 0;

	exercise->qp = qp;
	if (!exercise->config.is_server)
		return post_receive(exercise, SINK_OFFSET);
	for (size_t i = 0; i < VL_EXERCISE_DEPTH && !error; i++)
		error = post_receive(exercise, TARGET_SIZE + i * RECEIVE_SIZE);
	return error;
}

static void post(struct vl_exercise *exercise, struct ibv_send_wr *wr, const char *name,
		 size_t offset, uint32_t length, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)exercise->memory + offset, length, exercise->mr->lkey};
	const struct ibv_send_wr *bad;

	if (wr->opcode != IBV_WR_BIND_MW) {
		wr->sg_list = &sge;
		wr->num_sge = length > 0;
	}
	wr->send_flags = IBV_SEND_SIGNALED;
	if (vl_post_send(exercise->qp, wr, &bad, now)) {
		say(exercise, "%-24s not taken by the queue pair", name);
		exercise->failures++;
		exercise->is_over = true;
	}
}

/* ---- Server -----------------------------------------------------------------------------------
 */

/* Binds a window a step, then tells the client of everything. */
static void announce(struct vl_exercise *exercise, uint64_t now)
{
	uint32_t window = exercise->step;
	struct target *target = &exercise->target;

	if (window < WINDOW_COUNT) {
		struct ibv_mw *mw = exercise->windows[window];
		struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};

		target->window_rkey[window] = htobe32(ibv_inc_rkey(mw->rkey));
		bind.bind_mw.mw = mw;
		bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		bind.bind_mw.bind_info.mr = exercise->mr;
		bind.bind_mw.bind_info.addr =
			(uintptr_t)exercise->memory + WINDOW_SIZE * (window + 1);
		bind.bind_mw.bind_info.length = WINDOW_SIZE;
		bind.bind_mw.bind_info.mw_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		post(exercise, &bind, "bind window", 0, 0, now);
	} else if (window == WINDOW_COUNT) {
		struct ibv_send_wr send = {.opcode = IBV_WR_SEND};

		target->address = htobe64((uintptr_t)exercise->memory);
		target->rkey = htobe32(exercise->mr->rkey);
		target->read_only_rkey = htobe32(exercise->read_only_mr->rkey);
		target->write_only_rkey = htobe32(exercise->write_only_mr->rkey);
		memcpy(exercise->memory, target, sizeof(*target));
		post(exercise, &send, "announce target", 0, sizeof(*target), now);
	}
}

static void server_receive(struct vl_exercise *exercise, const struct ibv_wc *wc)
{
	char immediate[32] = "", invalidated[32] = "";
	bool is_right;

	if (wc->status != IBV_WC_SUCCESS) {
		say(exercise, "receive: %s", vl_wc_status_name(wc->status));
		exercise->is_over = true;
		return;
	}
	/* A WRITE with immediate puts its data elsewhere. */
	is_right =
		wc->opcode != IBV_WC_RECV || is_pattern(exercise->memory + wc->wr_id, wc->byte_len);
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		snprintf(immediate, sizeof(immediate), ", immediate 0x%08x", be32toh(wc->imm_data));
	if (wc->wc_flags & IBV_WC_WITH_INV)
		snprintf(invalidated, sizeof(invalidated), ", invalidated 0x%08x",
			 wc->invalidated_rkey);
	say(exercise, "receive: %s, opcode %d, %u bytes%s%s%s", vl_wc_status_name(wc->status),
	    (int)wc->opcode, wc->byte_len, immediate, invalidated, is_right ? "" : ", WRONG DATA");
	exercise->failures += !is_right;
	if (wc->wc_flags & IBV_WC_WITH_IMM && be32toh(wc->imm_data) == VL_EXERCISE_FINISH) {
		exercise->is_over = true;
		return;
	}
	memset(exercise->memory + wc->wr_id, 0, RECEIVE_SIZE);
	if (post_receive(exercise, wc->wr_id))
		fail(exercise, "receive: not taken by the queue pair");
}

static void server_complete(struct vl_exercise *exercise, const struct ibv_wc *wc, uint64_t now)
{
	if (wc->status != IBV_WC_SUCCESS) {
		fail(exercise, vl_wc_status_name(wc->status));
		return;
	}
	exercise->step++;
	announce(exercise, now);
}

/* ---- Client ------------------------------------------------------------------------------------
 */

/* The request that must be refused, in the place of a step. */
static struct step refused_step(const char *name)
{
	struct step step = {.name = name, .opcode = IBV_WR_RDMA_WRITE, .length = 64};

	if (!strncmp(name, "read-", 5)) {
		step.opcode = IBV_WR_RDMA_READ;
	} else if (!strncmp(name, "atomic-", 7)) {
		step.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		step.length = 8;
	} else if (!strcmp(name, "write-multi-bad-rkey")) {
		step.length = MULTI_SIZE;
	} else if (!strcmp(name, "send-too-long")) {
		step.opcode = IBV_WR_SEND;
		step.length = RECEIVE_SIZE + 1;
	} else if (!strcmp(name, "send-inv-bad-rkey")) {
		step.opcode = IBV_WR_SEND_WITH_INV;
	}
	return step;
}

/* Makes the key or the address wrong, as the request's name says. */
static void spoil(const char *name, const struct target *target, uint64_t *address, uint32_t *rkey)
{
	if (strstr(name, "bad-rkey"))
		*rkey ^= 0x55;
	else if (strstr(name, "out-of-bounds"))
		*address += BEYOND;
	else if (!strcmp(name, "write-no-permission"))
		*rkey = target->read_only_rkey;
	else if (strstr(name, "no-permission"))
		*rkey = target->write_only_rkey;
	else if (strstr(name, "misaligned"))
		*address += 4;
}

static struct step current_step(const struct vl_exercise *exercise)
{
	return exercise->config.refused ? refused_step(exercise->config.refused)
					: accepted_steps[exercise->step];
}

/* What the server filled the atomic's place with. */
static uint64_t first_value(const struct vl_exercise *exercise)
{
	uint64_t value;

	memcpy(&value, exercise->memory + ATOMIC_OFFSET, sizeof(value));
	return value;
}

static void post_step(struct vl_exercise *exercise, uint64_t now)
{
	const struct target *target = &exercise->target;
	struct step step = current_step(exercise);
	struct ibv_send_wr wr = {.opcode = step.opcode};
	bool is_last = step.opcode == IBV_WR_SEND_WITH_IMM && exercise->step == ACCEPTED_COUNT - 1;
	uint64_t address = target->address + (uint64_t)WINDOW_SIZE * step.window;
	uint32_t rkey = step.window ? target->window_rkey[step.window - 1] : target->rkey;
	size_t offset = 0;

	if (exercise->config.refused)
		spoil(step.name, target, &address, &rkey);
	switch (step.opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr.wr.atomic.remote_addr = address + (exercise->config.refused ? 0 : ATOMIC_OFFSET);
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = step.opcode == IBV_WR_ATOMIC_CMP_AND_SWP
						   ? first_value(exercise) + ADDEND
						   : ADDEND;
		wr.wr.atomic.swap = SWAPPED;
		offset = SINK_OFFSET;
		break;
	case IBV_WR_SEND_WITH_INV:
		wr.invalidate_rkey = rkey;
		break;
	default:
		wr.wr.rdma.remote_addr = address;
		wr.wr.rdma.rkey = rkey;
		wr.imm_data =
			htobe32(is_last ? VL_EXERCISE_FINISH : FIRST_IMMEDIATE + exercise->step);
		if (step.opcode == IBV_WR_RDMA_READ)
			offset = SINK_OFFSET;
	}
	if (offset == SINK_OFFSET)
		memset(exercise->memory + SINK_OFFSET, 0, step.length);
	post(exercise, &wr, step.name, offset, step.length, now);
}

static void client_receive(struct vl_exercise *exercise, const struct ibv_wc *wc, uint64_t now)
{
	struct target *target = &exercise->target;

	if (wc->status != IBV_WC_SUCCESS || wc->byte_len < sizeof(*target)) {
		if (!exercise->is_over)
			fail(exercise, "the server did not announce its memory");
		return;
	}
	memcpy(target, exercise->memory + SINK_OFFSET, sizeof(*target));
	target->address = be64toh(target->address);
	target->rkey = be32toh(target->rkey);
	for (int i = 0; i < WINDOW_COUNT; i++)
		target->window_rkey[i] = be32toh(target->window_rkey[i]);
	target->read_only_rkey = be32toh(target->read_only_rkey);
	target->write_only_rkey = be32toh(target->write_only_rkey);
	post_step(exercise, now);
}

/* Whether the results of the step that has succeeded are right. */
static bool results_are_right(const struct vl_exercise *exercise, const struct step *step)
{
	uint64_t found, expected = SWAPPED;

	if (step->check == CHECK_NONE)
		return true;
	if (step->check == CHECK_READ)
		return is_pattern(exercise->memory + SINK_OFFSET, step->length);
	if (step->check != CHECK_SWAPPED)
		expected = first_value(exercise) + (step->check == CHECK_SUM ? ADDEND : 0);
	memcpy(&found, exercise->memory + SINK_OFFSET, sizeof(found));
	return found == expected;
}

static void client_complete(struct vl_exercise *exercise, const struct ibv_wc *wc, uint64_t now)
{
	struct step step = current_step(exercise);
	bool has_succeeded = wc->status == IBV_WC_SUCCESS;

	say(exercise, "%-24s %s", step.name, vl_wc_status_name(wc->status));
	if (exercise->config.refused) {
		/* A wrong key to invalidate is the responder's error alone (IBTA 9.9.6.3, class J).
		 */
		exercise->failures += has_succeeded && step.opcode != IBV_WR_SEND_WITH_INV;
		exercise->is_over = true;
		return;
	}
	if (!has_succeeded) {
		exercise->failures++;
		exercise->is_over = true;
		return;
	}
	if (!results_are_right(exercise, &step)) {
		say(exercise, "%s: WRONG DATA", step.name);
		exercise->failures++;
	}
	if (++exercise->step == ACCEPTED_COUNT)
		exercise->is_over = true;
	else
		post_step(exercise, now);
}

void vl_exercise_begin(struct vl_exercise *exercise, uint64_t now)
{
	if (exercise->config.is_server)
		announce(exercise, now);
}

void vl_exercise_complete(struct vl_exercise *exercise, const struct ibv_wc *wc, uint64_t now)
{
	/* A failed completion does not say what it was of: only receives have numbers. */
	bool is_receive = wc->wr_id != 0;

	if (exercise->is_over)
		return;
	if (exercise->config.is_server && is_receive)
		server_receive(exercise, wc);
	else if (exercise->config.is_server)
		server_complete(exercise, wc, now);
	else if (is_receive)
		client_receive(exercise, wc, now);
	else
		client_complete(exercise, wc, now);
}

bool vl_exercise_is_over(const struct vl_exercise *exercise)
{
	return exercise->is_over;
}

uint32_t vl_exercise_failures(const struct vl_exercise *exercise)
{
	return exercise->failures + !exercise->is_over;
}
