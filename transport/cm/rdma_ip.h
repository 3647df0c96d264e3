/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * IP addressing over communication management (IBTA volume 1, annex A11): the service ID carries
 * the port space and destination port, and the private data of a REQ or SIDR_REQ begins with a
 * header of the addresses.
 */
#ifndef VERBLINE_CM_RDMA_IP_H
#define VERBLINE_CM_RDMA_IP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* X(value, enumerator and name) */
#define VL_RDMA_PORT_SPACES(X)                                                                     \
	X(0x0002, IPOIB)                                                                           \
	X(0x0106, TCP)                                                                             \
	X(0x0111, UDP)                                                                             \
	X(0x013f, IB)

enum vl_rdma_port_space {
#define VL_RDMA_VALUE(value, name) VL_RDMA_PORT_SPACE_##name = value,
	VL_RDMA_PORT_SPACES(VL_RDMA_VALUE)
#undef VL_RDMA_VALUE
};

/* Q_Key of UD QPs in the port space UDP. */
#define VL_RDMA_UDP_QKEY UINT32_C(0x01234567)

/* Bytes at the front of the private data; the rest is the user's, 56 bytes of a REQ. */
#define VL_RDMA_IP_LENGTH 36

struct vl_rdma_ip {
	uint8_t ip_version; /* 4 or 6 */
	uint16_t source_port;
	union ibv_gid source, destination; /* IPv4 as ::ffff:a.b.c.d */
};

uint64_t vl_rdma_service_id(enum vl_rdma_port_space space, uint16_t port);
/* false: not a service ID of a port space above. */
bool vl_rdma_service_id_decode(uint64_t service_id, enum vl_rdma_port_space *space, uint16_t *port);
/* "TCP"; NULL: no such port space. */
const char *vl_rdma_port_space_name(enum vl_rdma_port_space space);

/* 0, -EMSGSIZE: fewer bytes than a header, -EPROTONOSUPPORT: another major version than 0,
 * -EAFNOSUPPORT: neither IPv4 nor IPv6. */
int vl_rdma_ip_decode(struct vl_rdma_ip *ip, const uint8_t *private_data, uint32_t length);
/* 0 or -EAFNOSUPPORT: ip_version is neither 4 nor 6, or is 4 with an address that is no IPv4. */
int vl_rdma_ip_encode(uint8_t private_data[VL_RDMA_IP_LENGTH], const struct vl_rdma_ip *ip);

#endif
