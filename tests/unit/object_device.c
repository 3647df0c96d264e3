/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Devices, domains, and that whatever fails or is closed leaks nothing. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"
#include "transport/object/object.h"

static void check_table(void)
{
	static const uint32_t numbers[] = {0,     1,        255,      256,     65535,
					   65536, 0x123456, 0xfffffe, 0xffffff};
	struct counted_memory memory = {0};
	const struct vl_allocator allocator = {counted_allocate, counted_release, &memory};
	struct vl_table table = {0};
	const unsigned int count = sizeof(numbers) / sizeof(numbers[0]);

	CU_ASSERT_PTR_NULL(vl_table_find(&table, 5));
	vl_table_remove(&table, 5);
	for (unsigned int i = 0; i < count; i++)
		CU_ASSERT_EQUAL(vl_table_insert(&table, &allocator, numbers[i], &memory.calls + i),
				0);
	CU_ASSERT_EQUAL(vl_table_insert(&table, &allocator, 255, &memory), -EEXIST);
	CU_ASSERT_EQUAL(table.count, count);
	for (unsigned int i = 0; i < count; i++)
		CU_ASSERT_PTR_EQUAL(vl_table_find(&table, numbers[i]), &memory.calls + i);
	CU_ASSERT_PTR_NULL(vl_table_find(&table, 2));
	CU_ASSERT_PTR_NULL(vl_table_find(&table, 0x1000000));
	vl_table_remove(&table, 256);
	CU_ASSERT_PTR_NULL(vl_table_find(&table, 256));
	CU_ASSERT_PTR_NOT_NULL(vl_table_find(&table, 255));
	CU_ASSERT_EQUAL(table.count, count - 1);
	vl_table_release(&table, &allocator);
	CU_ASSERT_EQUAL(memory.live, 0);
	CU_ASSERT_EQUAL(memory.bytes, 0);
}

static void check_defaults(void)
{
	struct endpoint endpoint;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid, expected = ipv6_gid(7);
	uint16_t pkey;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 7));
	vl_query_device(endpoint.device, &attr);
	CU_ASSERT_EQUAL(attr.max_qp, 16384);
	CU_ASSERT_EQUAL(attr.max_cq, 65536);
	CU_ASSERT_EQUAL(attr.max_mr, 65536);
	CU_ASSERT_EQUAL(attr.max_srq, 1024);
	CU_ASSERT_EQUAL(attr.max_qp_wr, 32768);
	CU_ASSERT_EQUAL(attr.max_cqe, 4194303);
	CU_ASSERT_EQUAL(attr.max_qp_rd_atom, 16);
	CU_ASSERT_EQUAL(attr.max_sge, VL_MAX_SGE);
	CU_ASSERT_EQUAL(attr.phys_port_cnt, 1);
	/* EUI-64 of 02:00:00:00:00:07. */
	CU_ASSERT_EQUAL(be64toh(attr.node_guid), 0x000000fffe000007);

	CU_ASSERT_EQUAL(vl_query_port(endpoint.device, 1, &port), 0);
	CU_ASSERT_EQUAL(port.state, IBV_PORT_ACTIVE);
	CU_ASSERT_EQUAL(port.active_mtu, IBV_MTU_4096);
	CU_ASSERT_EQUAL(port.max_msg_sz, 2147483648);
	CU_ASSERT_EQUAL(port.gid_tbl_len, 2);
	CU_ASSERT_EQUAL(port.pkey_tbl_len, 1);
	CU_ASSERT_EQUAL(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	CU_ASSERT_EQUAL(port.active_width, 1); /* 1x at 100 Gb/s */
	CU_ASSERT_EQUAL(port.active_speed, 128);
	CU_ASSERT_EQUAL(vl_query_port(endpoint.device, 0, &port), -EINVAL);
	CU_ASSERT_EQUAL(vl_query_port(endpoint.device, 2, &port), -EINVAL);

	CU_ASSERT_EQUAL(vl_query_gid(endpoint.device, 1, 1, &gid), 0);
	CU_ASSERT_EQUAL(memcmp(&gid, &expected, sizeof(gid)), 0);
	CU_ASSERT_EQUAL(vl_query_gid(endpoint.device, 1, 2, &gid), -EINVAL);
	CU_ASSERT_EQUAL(vl_query_gid(endpoint.device, 2, 0, &gid), -EINVAL);
	CU_ASSERT_EQUAL(vl_query_pkey(endpoint.device, 1, 0, &pkey), 0);
	CU_ASSERT_EQUAL(pkey, 0xffff);
	CU_ASSERT_EQUAL(vl_query_pkey(endpoint.device, 1, 1, &pkey), -EINVAL);
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
}

static void check_bad_configurations(void)
{
	struct endpoint endpoint = {0};
	const struct vl_device_config good = endpoint_config(&endpoint, 1);
	static const struct vl_cc_parameters no_periods = {.algorithm = &vl_cc_dcqcn};

#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		struct vl_device_config config = good;                                             \
		int error = 0;                                                                     \
                                                                                                   \
		config.field = (value);                                                            \
		CU_ASSERT_PTR_NULL(vl_open_device(&config, &error));                               \
		CU_ASSERT_EQUAL(error, -EINVAL);                                                   \
	} while (0)
	REFUSED(allocator.allocate, NULL);
	REFUSED(allocator.release, NULL);
	REFUSED(gid_count, 0);
	REFUSED(gid_count, VL_MAX_GIDS + 1);
	REFUSED(gids[1].encapsulation, (enum vl_encapsulation)9);
	REFUSED(gids[0].vlan_id, 4096);
	REFUSED(pkey_count, VL_MAX_PKEYS + 1);
	REFUSED(active_mtu, (enum ibv_mtu)6);
	REFUSED(max_qp, 0xffffff);
	REFUSED(max_mr, 0x1000000);
	REFUSED(max_qp_wr, 0x100001);
	REFUSED(max_cqe, 0x4000000);
	REFUSED(max_qp_rd_atom, 129);
	REFUSED(first_qpn, 1);
	REFUSED(first_qpn, 0xffffff);
	REFUSED(max_unacked_packets, 0x400001);
	REFUSED(cnp_dscp, 64);
	REFUSED(cc, &no_periods);
#undef REFUSED
	CU_ASSERT_EQUAL(endpoint.memory.calls, 0);
}

static void check_busy_objects(void)
{
	struct endpoint endpoint;
	struct vl_pd *pd;
	struct vl_qp *qp;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
	pd = vl_alloc_pd(endpoint.device, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pd);
	CU_ASSERT_EQUAL(vl_dealloc_pd(pd), 0);
	CU_ASSERT_EQUAL(vl_dealloc_pd(endpoint.pd), -EBUSY);
	CU_ASSERT_EQUAL(vl_dereg_mr(endpoint.mr), 0);
	qp = make_qp(&endpoint, IBV_QPT_RC);
	CU_ASSERT_EQUAL(vl_dealloc_pd(endpoint.pd), -EBUSY);
	CU_ASSERT_EQUAL(vl_destroy_cq(endpoint.send_cq), -EBUSY);
	CU_ASSERT_EQUAL(vl_destroy_cq(endpoint.recv_cq), -EBUSY);
	CU_ASSERT_EQUAL(vl_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(vl_destroy_cq(endpoint.send_cq), 0);
	CU_ASSERT_EQUAL(vl_dealloc_pd(endpoint.pd), 0);
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
}

/* One of everything, in use: false if something could not be made. */
static bool populate(struct endpoint *endpoint)
{
	const struct ibv_srq_attr srq_attr = {.max_wr = 8, .max_sge = 2};
	struct ibv_qp_attr attr = qp_attr(2, 77, 0, 0);
	struct vl_qp_init_attr init;
	struct vl_srq *srq;
	struct vl_qp *qp;
	struct ibv_ah *ah;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	const struct vl_device_config config = endpoint_config(endpoint, 1);
	int error = 0;

	if (!endpoint_open_with(endpoint, &config))
		return false;
	srq = vl_create_srq(endpoint->pd, &srq_attr, &error);
	if (!srq) {
		CU_ASSERT_EQUAL(error, -ENOMEM);
		return false;
	}
	init = qp_init(endpoint, IBV_QPT_RC);
	init.srq = srq;
	if (!vl_create_qp(endpoint->pd, &init, &error)) {
		CU_ASSERT_EQUAL(error, -ENOMEM);
		return false;
	}
	if (!make_qp(endpoint, IBV_QPT_UC) || !vl_alloc_mw(endpoint->pd, IBV_MW_TYPE_2, NULL))
		return false;
	if (!vl_reg_mr_with_key(endpoint->pd, endpoint->arena, 64, 0, 0, 0xabcdef12, &error)) {
		CU_ASSERT_EQUAL(error, -ENOMEM);
		return false;
	}
	ah = vl_create_ah(endpoint->pd, &attr.ah_attr, &error);
	if (!ah) {
		CU_ASSERT_EQUAL(error, -ENOMEM);
		return false;
	}
	if (vl_resize_cq(endpoint->send_cq, 512))
		return false;
	qp = make_qp(endpoint, IBV_QPT_UD);
	if (!qp)
		return false;
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_UD, &attr, IBV_QPS_RTS), 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 77;
	CU_ASSERT_EQUAL(post(qp, &wr), 0);
	/* Destroyed while the request is pending: refused, not dangling. */
	CU_ASSERT_EQUAL(vl_destroy_ah(ah), -EBUSY);
	return true;
}

static void check_close_with_everything(void)
{
	struct endpoint endpoint = {0};

	CU_ASSERT_TRUE(populate(&endpoint));
	CU_ASSERT_TRUE(endpoint.memory.live > 10);
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
	CU_ASSERT_EQUAL(endpoint.memory.bytes, 0);
}

static void check_every_failing_allocation(void)
{
	size_t calls = SIZE_MAX;

	for (size_t n = 1; n <= calls; n++) {
		struct endpoint endpoint = {.memory.fail_at = n};
		bool complete = populate(&endpoint);

		if (complete) {
			CU_ASSERT_TRUE(n > 20); /* that many allocations were made to fail */
			calls = 0;
		}
		CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
		CU_ASSERT_EQUAL(endpoint.memory.bytes, 0);
		if (n > 1000) {
			CU_FAIL("never succeeds");
			break;
		}
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"table", check_table},
		{"defaults", check_defaults},
		{"bad_configurations", check_bad_configurations},
		{"busy_objects", check_busy_objects},
		{"close_with_everything", check_close_with_everything},
		{"every_failing_allocation", check_every_failing_allocation},
	};

	return RUN_SUITE("object_device", tests, argc, argv);
}
