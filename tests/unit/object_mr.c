/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Memory regions and windows: permissions, bounds, domains, and keys that never come back. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"
#include "transport/object/object.h"

#define LOCAL  IBV_ACCESS_LOCAL_WRITE
#define WRITE  IBV_ACCESS_REMOTE_WRITE
#define READ   IBV_ACCESS_REMOTE_READ
#define ATOMIC IBV_ACCESS_REMOTE_ATOMIC

static struct endpoint endpoint;
static struct vl_qp *qp;

static void setup(void)
{
	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
	qp = make_qp(&endpoint, IBV_QPT_RC);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
}

static void teardown(void)
{
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
}

static void check_registration(void)
{
	static const struct {
		unsigned int access;
		int error;
	} cases[] = {
		{0, 0},
		{LOCAL, 0},
		{READ, 0},
		{WRITE, -EINVAL},
		{ATOMIC, -EINVAL},
		{LOCAL | WRITE, 0},
		{LOCAL | ATOMIC, 0},
		{LOCAL | WRITE | READ | ATOMIC, 0},
		{IBV_ACCESS_MW_BIND, 0},
		{IBV_ACCESS_ZERO_BASED, 0},
		{IBV_ACCESS_RELAXED_ORDERING, 0},
		{IBV_ACCESS_HUGETLB, 0},
		{VL_ACCESS_FLUSH_GLOBAL, 0},
		{VL_ACCESS_FLUSH_PERSISTENT, 0},
		{IBV_ACCESS_ON_DEMAND, -EINVAL},
		{1u << 10, -EINVAL},
		{1u << 31, -EINVAL},
	};
	static uint8_t memory[16];
	int error;

	setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_mr *mr;

		error = 0;
		mr = vl_reg_mr(endpoint.pd, memory, 16, 0, cases[i].access, &error);
		CU_ASSERT_EQUAL(error, cases[i].error);
		CU_ASSERT_EQUAL(mr != NULL, !cases[i].error);
		if (mr) {
			CU_ASSERT_PTR_EQUAL(mr->addr, memory);
			CU_ASSERT_EQUAL(mr->length, 16);
			CU_ASSERT_EQUAL(mr->lkey, mr->rkey);
			CU_ASSERT_EQUAL(vl_dereg_mr(mr), 0);
		}
	}
	CU_ASSERT_PTR_NULL(vl_reg_mr(endpoint.pd, NULL, 16, 0, 0, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	/* Up to the end of the address space, not round it. */
	CU_ASSERT_PTR_NOT_NULL(vl_reg_mr(endpoint.pd, memory, 16, UINT64_MAX - 15, 0, &error));
	CU_ASSERT_PTR_NULL(vl_reg_mr(endpoint.pd, memory, 16, UINT64_MAX - 14, 0, &error));
	CU_ASSERT_PTR_NULL(vl_reg_mr(endpoint.pd, memory, SIZE_MAX, 0, 0, &error));
	CU_ASSERT_PTR_NOT_NULL(vl_reg_mr(endpoint.pd, NULL, 0, 0, 0, &error));
	teardown();
}

static void check_translation(void)
{
	static const struct {
		int64_t offset; /* from iova */
		uint64_t length;
		unsigned int access;
		bool granted;
	} cases[] = {
		{0, 100, WRITE, true},
		{0, 1, READ, true},
		{99, 1, WRITE, true},
		{40, 60, WRITE | READ, true},
		{0, 100, ATOMIC, false},
		{0, 101, WRITE, false},
		{99, 2, WRITE, false},
		{100, 1, WRITE, false},
		{-1, 1, WRITE, false},
		{-1, 2, WRITE, false},
		{-100, 100, WRITE, false},
		{50, UINT64_MAX, WRITE, false},
		{50, UINT64_MAX - 49, WRITE, false},
		{1, UINT64_MAX, WRITE, false},
		{INT64_MIN, 1, WRITE, false},
	};
	static const uint64_t iovas[] = {0, 0x1000, 0x7fffffffffffff00, UINT64_MAX - 99};
	static uint8_t memory[100];

	setup();
	for (size_t i = 0; i < sizeof(iovas) / sizeof(iovas[0]); i++) {
		struct ibv_mr *mr = vl_reg_mr(endpoint.pd, memory, sizeof(memory), iovas[i],
					      LOCAL | WRITE | READ, NULL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
		for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
			uint64_t address = iovas[i] + (uint64_t)cases[j].offset;
			uint8_t *expected = cases[j].granted ? memory + cases[j].offset : NULL;

			CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, mr->rkey, address, cases[j].length,
							    cases[j].access),
					    expected);
			CU_ASSERT_PTR_EQUAL(vl_mr_translate_local(endpoint.pd, mr->lkey, address,
								  cases[j].length, cases[j].access),
					    expected);
			/* Nor with any other generation or index. */
			CU_ASSERT_PTR_NULL(vl_mr_translate(qp, mr->rkey ^ 1, address,
							   cases[j].length, cases[j].access));
			CU_ASSERT_PTR_NULL(vl_mr_translate(qp, mr->rkey ^ 0x80000000, address,
							   cases[j].length, cases[j].access));
		}
		vl_dereg_mr(mr);
	}
	/* No bytes, no key. */
	CU_ASSERT_PTR_NOT_NULL(vl_mr_translate(qp, 0xdeadbeef, 0x1234, 0, WRITE));
	CU_ASSERT_PTR_NOT_NULL(vl_mr_translate_local(endpoint.pd, 0, 0, 0, LOCAL));
	teardown();
}

static void check_domains(void)
{
	struct vl_pd *other;
	struct ibv_mr *mr;

	setup();
	other = vl_alloc_pd(endpoint.device, NULL);
	mr = vl_reg_mr(other, endpoint.arena, 100, 0, LOCAL | WRITE, NULL);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, mr->rkey, 0, 1, WRITE));
	CU_ASSERT_PTR_NULL(vl_mr_translate_local(endpoint.pd, mr->lkey, 0, 1, 0));
	CU_ASSERT_PTR_NOT_NULL(vl_mr_translate_local(other, mr->lkey, 0, 1, 0));
	CU_ASSERT_EQUAL(vl_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, endpoint.pd, NULL, 0, 0), 0);
	CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, mr->rkey, 0, 1, WRITE), endpoint.arena);
	CU_ASSERT_PTR_EQUAL(mr->pd, (struct ibv_pd *)endpoint.pd);
	CU_ASSERT_EQUAL(vl_dealloc_pd(other), 0);
	teardown();
}

static void check_reregistration(void)
{
	static uint8_t memory[64];
	struct ibv_mr *mr;
	uint32_t key;

	setup();
	mr = vl_reg_mr(endpoint.pd, endpoint.arena, 100, 0x5000, LOCAL | WRITE, NULL);
	key = mr->rkey;
	CU_ASSERT_EQUAL(vl_rereg_mr(mr, 0, NULL, NULL, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_rereg_mr(mr, 8, NULL, NULL, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, WRITE), -EINVAL);
	CU_ASSERT_EQUAL(vl_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 8, 0),
			-EINVAL);
	/* Refused: as it was. */
	CU_ASSERT_EQUAL(mr->rkey, key);
	CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, key, 0x5000, 100, WRITE), endpoint.arena);

	CU_ASSERT_EQUAL(vl_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, READ), 0);
	CU_ASSERT_EQUAL(mr->rkey >> 8, key >> 8);
	CU_ASSERT_NOT_EQUAL(mr->rkey, key);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, key, 0x5000, 100, WRITE));
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, mr->rkey, 0x5000, 100, WRITE));
	CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, mr->rkey, 0x5000, 100, READ), endpoint.arena);

	CU_ASSERT_EQUAL(
		vl_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory, sizeof(memory), 0),
		0);
	CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, mr->rkey, (uintptr_t)memory, 64, READ), memory);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, mr->rkey, (uintptr_t)memory, 65, READ));
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, mr->rkey, 0x5000, 1, READ));
	CU_ASSERT_EQUAL(mr->length, 64);
	teardown();
}

static void check_zero_based(void)
{
	struct ibv_mr *mr;

	setup();
	mr = vl_reg_mr(endpoint.pd, endpoint.arena, 100, 0x5000, READ | IBV_ACCESS_ZERO_BASED,
		       NULL);
	CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, mr->rkey, 10, 90, READ), endpoint.arena + 10);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, mr->rkey, 0x5000, 1, READ));
	teardown();
}

/* 70,000 registrations in two slots: more than the generations of an index by far. */
static void check_keys_do_not_repeat(void)
{
	enum { COUNT = 70000 };
	static uint8_t seen[1 << 21]; /* by key, 16 Mi of them */
	struct ibv_mr *live;
	unsigned int repeats = 0, beyond = 0;
	size_t after_first;

	memset(seen, 0, sizeof(seen));
	setup();
	live = vl_reg_mr(endpoint.pd, endpoint.arena, 8, 0, READ, NULL);
	after_first = endpoint.memory.bytes;
	for (unsigned int i = 0; i < COUNT; i++) {
		struct ibv_mr *mr = vl_reg_mr(endpoint.pd, endpoint.arena, 8, 0, READ, NULL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
		if (mr->rkey >> 24)
			beyond++;
		else if (seen[mr->rkey >> 3] & 1u << (mr->rkey & 7))
			repeats++;
		else
			seen[mr->rkey >> 3] |= (uint8_t)(1u << (mr->rkey & 7));
		vl_dereg_mr(live);
		live = mr;
	}
	CU_ASSERT_EQUAL(repeats, 0);
	CU_ASSERT_EQUAL(beyond, 0);
	/* And the memory for it does not grow with the registrations. */
	CU_ASSERT_TRUE(endpoint.memory.bytes - after_first < 8192);
	CU_ASSERT_EQUAL(endpoint.device->mrs.count, 3);
	teardown();
}

static void check_chosen_keys(void)
{
	struct ibv_mr *mr, *other;
	int error = 0;

	setup();
	mr = vl_reg_mr_with_key(endpoint.pd, endpoint.arena, 100, 0, READ, 0x00beef42, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_EQUAL(mr->rkey, 0x00beef42);
	CU_ASSERT_EQUAL(mr->lkey, 0x00beef42);
	CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, 0x00beef42, 0, 100, READ), endpoint.arena);
	/* The index is taken, whatever the generation. */
	CU_ASSERT_PTR_NULL(
		vl_reg_mr_with_key(endpoint.pd, endpoint.arena, 100, 0, READ, 0x00beef43, &error));
	CU_ASSERT_EQUAL(error, -EEXIST);
	CU_ASSERT_EQUAL(vl_dereg_mr(mr), 0);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, 0x00beef42, 0, 100, READ));
	/* Free again, also for the caller who plays a recorded key a second time. */
	mr = vl_reg_mr_with_key(endpoint.pd, endpoint.arena, 50, 0, READ, 0x00beef42, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, 0x00beef42, 0, 100, READ));
	/* All bits of a key may be used, and keys of the device's choice stay clear of them. */
	CU_ASSERT_PTR_NOT_NULL(
		vl_reg_mr_with_key(endpoint.pd, endpoint.arena, 1, 0, READ, 0, NULL));
	CU_ASSERT_PTR_NOT_NULL(
		vl_reg_mr_with_key(endpoint.pd, endpoint.arena, 1, 0, READ, UINT32_MAX, NULL));
	other = vl_reg_mr_with_key(endpoint.pd, endpoint.arena, 1, 0, READ, 0x500, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	for (int i = 0; i < 10; i++) {
		struct ibv_mr *next = vl_reg_mr(endpoint.pd, endpoint.arena, 1, 0, READ, &error);

		CU_ASSERT_PTR_NOT_NULL_FATAL(next);
		CU_ASSERT_NOT_EQUAL(next->rkey >> 8, 5);
		CU_ASSERT_NOT_EQUAL(next->rkey >> 8, 0xbeef);
	}
	/* An index that was the device's and is retired may be chosen. */
	{
		uint32_t key;

		other = vl_reg_mr(endpoint.pd, endpoint.arena, 1, 0, READ, NULL);
		key = other->rkey;
		vl_dereg_mr(other);
		other = vl_reg_mr_with_key(endpoint.pd, endpoint.arena, 1, 0, READ, key, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(other);
		CU_ASSERT_EQUAL(other->rkey, key);
	}
	teardown();
}

static void check_limit(void)
{
	struct vl_device_config config;
	int error = 0;

	memset(&endpoint, 0, sizeof(endpoint));
	config = endpoint_config(&endpoint, 1);
	config.max_mr = 3;
	CU_ASSERT_TRUE_FATAL(endpoint_open_with(&endpoint, &config));
	CU_ASSERT_PTR_NOT_NULL(vl_alloc_mw(endpoint.pd, IBV_MW_TYPE_2, NULL));
	CU_ASSERT_PTR_NOT_NULL(vl_reg_mr(endpoint.pd, endpoint.arena, 1, 0, 0, NULL));
	CU_ASSERT_PTR_NULL(vl_reg_mr(endpoint.pd, endpoint.arena, 1, 0, 0, &error));
	CU_ASSERT_EQUAL(error, -ENOMEM);
	CU_ASSERT_PTR_NULL(vl_alloc_mw(endpoint.pd, IBV_MW_TYPE_2, &error));
	CU_ASSERT_EQUAL(error, -ENOMEM);
	CU_ASSERT_EQUAL(vl_dereg_mr(endpoint.mr), 0);
	CU_ASSERT_PTR_NOT_NULL(vl_reg_mr(endpoint.pd, endpoint.arena, 1, 0, 0, NULL));
	teardown();
}

static void check_invalidation(void)
{
	struct ibv_mr *plain, *mr;
	uint32_t key;

	setup();
	plain = vl_reg_mr(endpoint.pd, endpoint.arena, 100, 0, READ, NULL);
	mr = vl_reg_mr(endpoint.pd, endpoint.arena, 100, 0, READ | IBV_ACCESS_MW_BIND, NULL);
	key = mr->rkey;
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, plain->rkey, true), -EINVAL);
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, key ^ 1, true), -EINVAL);
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, 0xffffffff, false), -EINVAL);
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, key, true), 0);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, key, 0, 1, READ));
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, mr->rkey, 0, 1, READ));
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, key, true), -EINVAL);
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, mr->rkey, true), -EINVAL);
	/* Registering it again makes it valid, under yet another key. */
	CU_ASSERT_EQUAL(vl_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, READ), 0);
	CU_ASSERT_NOT_EQUAL(mr->rkey, key);
	CU_ASSERT_PTR_NOT_NULL(vl_mr_translate(qp, mr->rkey, 0, 1, READ));
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, key, 0, 1, READ));
	teardown();
}

static void check_windows(void)
{
	struct vl_qp *other_qp;
	struct ibv_mr *region, *closed, *read_only;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;
	uint32_t first, key;
	int error = 0;

	setup();
	other_qp = make_qp(&endpoint, IBV_QPT_RC);
	region = vl_reg_mr(endpoint.pd, endpoint.arena, 1000, 0x10000, LOCAL | IBV_ACCESS_MW_BIND,
			   NULL);
	closed = vl_reg_mr(endpoint.pd, endpoint.arena, 1000, 0x10000, LOCAL, NULL);
	read_only = vl_reg_mr(endpoint.pd, endpoint.arena, 1000, 0x10000, IBV_ACCESS_MW_BIND, NULL);
	CU_ASSERT_PTR_NULL(vl_alloc_mw(endpoint.pd, IBV_MW_TYPE_1, &error));
	CU_ASSERT_EQUAL(error, -EOPNOTSUPP);
	mw = vl_alloc_mw(endpoint.pd, IBV_MW_TYPE_2, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mw);
	first = mw->rkey;
	key = ibv_inc_rkey(first);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, first, 0x10000, 1, READ));
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, first, false), -EINVAL);

	info = (struct ibv_mw_bind_info){region, 0x10064, 200, READ | WRITE};
#define BAD_BIND(change, bad_key)                                                                  \
	do {                                                                                       \
		struct ibv_mw_bind_info good = info;                                               \
                                                                                                   \
		change;                                                                            \
		CU_ASSERT_EQUAL(vl_mr_bind_window(qp, mw, (bad_key), &info), -EINVAL);             \
		info = good;                                                                       \
	} while (0)
	BAD_BIND((void)0, first);       /* the old key */
	BAD_BIND((void)0, key ^ 0x100); /* another index */
	BAD_BIND(info.mr = NULL, key);
	BAD_BIND(info.mr = closed, key);
	BAD_BIND(info.mr = read_only, key); /* WRITE through a region without local write */
	BAD_BIND(info.addr = 0xffff, key);
	BAD_BIND(info.length = 1000, key);
	BAD_BIND(info.length = UINT64_MAX, key);
	BAD_BIND(info.length = 0, key);
	BAD_BIND(info.mw_access_flags = LOCAL, key);
	CU_ASSERT_EQUAL(vl_mr_bind_window(qp, (struct ibv_mw *)closed, key, &info), -EINVAL);

	CU_ASSERT_EQUAL(vl_mr_bind_window(qp, mw, key, &info), 0);
	CU_ASSERT_EQUAL(mw->rkey, key);
	CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, key, 0x10064, 200, WRITE), endpoint.arena + 100);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, key, 0x10063, 1, WRITE));
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, key, 0x10064, 201, WRITE));
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, key, 0x10064, 8, ATOMIC));
	/* Of one QP, and for the remote side alone. */
	CU_ASSERT_PTR_NULL(vl_mr_translate(other_qp, key, 0x10064, 1, READ));
	CU_ASSERT_PTR_NULL(vl_mr_translate_local(endpoint.pd, key, 0x10064, 1, 0));
	/* A bound window must be invalidated before it is bound anew, and its region stays. */
	CU_ASSERT_EQUAL(vl_mr_bind_window(qp, mw, ibv_inc_rkey(key), &info), -EINVAL);
	CU_ASSERT_EQUAL(vl_dereg_mr(region), -EBUSY);
	CU_ASSERT_EQUAL(vl_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, READ),
			-EBUSY);
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, region->rkey, false), -EINVAL);
	CU_ASSERT_EQUAL(vl_mr_invalidate(other_qp, key, true), -EINVAL);
	CU_ASSERT_EQUAL(vl_mr_invalidate(qp, key, true), 0);
	CU_ASSERT_PTR_NULL(vl_mr_translate(qp, key, 0x10064, 1, READ));
	CU_ASSERT_EQUAL(vl_mr_bind_window(qp, mw, key, &info), -EINVAL);

	/* Zero-based, through a region without remote permissions of its own. */
	info.mw_access_flags = READ | IBV_ACCESS_ZERO_BASED;
	key = ibv_inc_rkey(key);
	CU_ASSERT_EQUAL(vl_mr_bind_window(qp, mw, key, &info), 0);
	CU_ASSERT_PTR_EQUAL(vl_mr_translate(qp, key, 0, 200, READ), endpoint.arena + 100);
	/* Gone with its QP. */
	vl_destroy_qp(qp);
	CU_ASSERT_PTR_NULL(vl_mr_translate(other_qp, key, 0, 200, READ));
	CU_ASSERT_EQUAL(vl_dereg_mr(region), 0);
	CU_ASSERT_EQUAL(vl_dealloc_mw(mw), 0);
	teardown();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"registration", check_registration},
		{"translation", check_translation},
		{"domains", check_domains},
		{"reregistration", check_reregistration},
		{"zero_based", check_zero_based},
		{"keys_do_not_repeat", check_keys_do_not_repeat},
		{"chosen_keys", check_chosen_keys},
		{"limit", check_limit},
		{"invalidation", check_invalidation},
		{"windows", check_windows},
	};

	return RUN_SUITE("object_mr", tests, argc, argv);
}
