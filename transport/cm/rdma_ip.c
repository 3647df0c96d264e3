/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/cm/rdma_ip.h"

#include "transport/wire/gid.h"
#include "transport/wire/headers.h"

#include <errno.h>
#include <string.h>

#define PORT_SPACE_SHIFT    16
#define SOURCE_PORT         2
#define SOURCE_ADDRESS      4
#define DESTINATION_ADDRESS 20

uint64_t vl_rdma_service_id(enum vl_rdma_port_space space, uint16_t port)
{
	return (uint64_t)space << PORT_SPACE_SHIFT | port;
}

const char *vl_rdma_port_space_name(enum vl_rdma_port_space space)
{
	switch (space) {
#define NAME(value, name)                                                                          \
	case VL_RDMA_PORT_SPACE_##name:                                                            \
		return #name;
		VL_RDMA_PORT_SPACES(NAME)
#undef NAME
	}
	return NULL;
}

bool vl_rdma_service_id_decode(uint64_t service_id, enum vl_rdma_port_space *space, uint16_t *port)
{
	uint64_t value = service_id >> PORT_SPACE_SHIFT;

	if (value > UINT16_MAX || !vl_rdma_port_space_name((enum vl_rdma_port_space)value))
		return false;
	*space = (enum vl_rdma_port_space)value;
	*port = (uint16_t)service_id;
	return true;
}

static void decode_address(union ibv_gid *address, const uint8_t bytes[16], bool is_ipv4)
{
	if (is_ipv4)
		*address = vl_gid_of_ipv4(bytes + VL_GID_IPV4_OFFSET);
	else
		memcpy(address->raw, bytes, sizeof(address->raw));
}

static void encode_address(uint8_t bytes[16], const union ibv_gid *address, bool is_ipv4)
{
	memcpy(bytes, address->raw, sizeof(address->raw));
	if (is_ipv4)
		memset(bytes, 0, VL_GID_IPV4_OFFSET);
}

int vl_rdma_ip_decode(struct vl_rdma_ip *ip, const uint8_t *private_data, uint32_t length)
{
	if (length < VL_RDMA_IP_LENGTH)
		return -EMSGSIZE;
	if (private_data[0] >> 4)
		return -EPROTONOSUPPORT;
	ip->ip_version = private_data[1] >> 4;
	if (ip->ip_version != 4 && ip->ip_version != 6)
		return -EAFNOSUPPORT;
	ip->source_port = vl_load_be16(private_data + SOURCE_PORT);
	decode_address(&ip->source, private_data + SOURCE_ADDRESS, ip->ip_version == 4);
	decode_address(&ip->destination, private_data + DESTINATION_ADDRESS, ip->ip_version == 4);
	return 0;
}

int vl_rdma_ip_encode(uint8_t private_data[VL_RDMA_IP_LENGTH], const struct vl_rdma_ip *ip)
{
	const bool is_ipv4 = ip->ip_version == 4;

	if (!is_ipv4 && ip->ip_version != 6)
		return -EAFNOSUPPORT;
	if (is_ipv4 && (!vl_gid_is_ipv4(&ip->source) || !vl_gid_is_ipv4(&ip->destination)))
		return -EAFNOSUPPORT;
	private_data[0] = 0;
	private_data[1] = (uint8_t)(ip->ip_version << 4);
	vl_store_be16(private_data + SOURCE_PORT, ip->source_port);
	encode_address(private_data + SOURCE_ADDRESS, &ip->source, is_ipv4);
	encode_address(private_data + DESTINATION_ADDRESS, &ip->destination, is_ipv4);
	return 0;
}
