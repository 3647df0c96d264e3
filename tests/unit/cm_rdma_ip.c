/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Service IDs, and the IP header of the private data: captured, and refused. */

#include "tests/support/suite.h"
#include "tests/unit/cm_captured.h"
#include "transport/cm/rdma_ip.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* Where the private data of a REQ and of a SIDR_REQ begin. */
static const uint8_t *const rping_data = rping_req + VL_MAD_LENGTH - 92;
static const uint8_t *const rping6_data = rping6_req + VL_MAD_LENGTH - 92;
static const uint8_t *const udaddy_data = udaddy_sidr_req + VL_MAD_LENGTH - 216;

static bool is_address(const union ibv_gid *value, const char *ipv6)
{
	union ibv_gid expected;

	return inet_pton(AF_INET6, ipv6, expected.raw) == 1 &&
	       !memcmp(value, &expected, sizeof(expected));
}

static void check_captured(const uint8_t *data, uint8_t ip_version, uint16_t source_port,
			   const char *source, const char *destination)
{
	uint8_t encoded[VL_RDMA_IP_LENGTH];
	struct vl_rdma_ip ip;

	memset(encoded, 0xee, sizeof(encoded));
	CU_ASSERT_EQUAL(vl_rdma_ip_decode(&ip, data, VL_RDMA_IP_LENGTH), 0);
	CU_ASSERT_EQUAL(ip.ip_version, ip_version);
	CU_ASSERT_EQUAL(ip.source_port, source_port);
	CU_ASSERT_TRUE(is_address(&ip.source, source));
	CU_ASSERT_TRUE(is_address(&ip.destination, destination));
	CU_ASSERT_EQUAL(vl_rdma_ip_encode(encoded, &ip), 0);
	CU_ASSERT_EQUAL(memcmp(encoded, data, sizeof(encoded)), 0);
}

static void test_captured(void)
{
	check_captured(rping_data, 4, 0xcb06, "::ffff:10.77.0.2", "::ffff:10.77.0.3");
	check_captured(rping6_data, 6, 0x9fda, "fd77::2", "fd77::3");
	check_captured(udaddy_data, 4, 0x9fd3, "::ffff:10.77.0.2", "::ffff:10.77.0.3");
}

static void test_refused(void)
{
	uint8_t data[VL_RDMA_IP_LENGTH];
	struct vl_rdma_ip ip;

	memcpy(data, rping_data, sizeof(data));
	CU_ASSERT_EQUAL(vl_rdma_ip_decode(&ip, data, 35), -EMSGSIZE);
	data[0] = 0x10;
	CU_ASSERT_EQUAL(vl_rdma_ip_decode(&ip, data, 36), -EPROTONOSUPPORT);
	data[0] = 0x01; /* a minor version */
	CU_ASSERT_EQUAL(vl_rdma_ip_decode(&ip, data, 36), 0);
	data[1] = 0x50;
	CU_ASSERT_EQUAL(vl_rdma_ip_decode(&ip, data, 36), -EAFNOSUPPORT);

	memcpy(data, rping6_data, sizeof(data));
	CU_ASSERT_EQUAL(vl_rdma_ip_decode(&ip, data, 36), 0);
	ip.ip_version = 4;
	CU_ASSERT_EQUAL(vl_rdma_ip_encode(data, &ip), -EAFNOSUPPORT);
	ip.ip_version = 5;
	CU_ASSERT_EQUAL(vl_rdma_ip_encode(data, &ip), -EAFNOSUPPORT);
	CU_ASSERT_EQUAL(memcmp(data, rping6_data, sizeof(data)), 0);
}

static void test_service_ids(void)
{
	enum vl_rdma_port_space space;
	uint16_t port;

	CU_ASSERT_EQUAL(vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, 7174), 0x0000000001061c06);
	CU_ASSERT_EQUAL(vl_rdma_service_id(VL_RDMA_PORT_SPACE_UDP, 7174), 0x0000000001111c06);
	CU_ASSERT_TRUE(vl_rdma_service_id_decode(0x0000000001061c06, &space, &port));
	CU_ASSERT_EQUAL(space, VL_RDMA_PORT_SPACE_TCP);
	CU_ASSERT_EQUAL(port, 7174);
	CU_ASSERT_TRUE(vl_rdma_service_id_decode(0x00000000013fffff, &space, &port));
	CU_ASSERT_EQUAL(space, VL_RDMA_PORT_SPACE_IB);
	CU_ASSERT_EQUAL(port, 65535);
	CU_ASSERT_FALSE(vl_rdma_service_id_decode(0x0000000001071c06, &space, &port));
	CU_ASSERT_FALSE(vl_rdma_service_id_decode(0x0000000101061c06, &space, &port));
	CU_ASSERT_FALSE(vl_rdma_service_id_decode(0x1000000001061c06, &space, &port));
	CU_ASSERT_STRING_EQUAL(vl_rdma_port_space_name(VL_RDMA_PORT_SPACE_UDP), "UDP");
	CU_ASSERT_PTR_NULL(vl_rdma_port_space_name((enum vl_rdma_port_space)0x107));
}

static const struct test tests[] = {
	{"captured", test_captured},
	{"refused", test_refused},
	{"service IDs", test_service_ids},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("RDMA IP over CM", tests, argc, argv);
}
