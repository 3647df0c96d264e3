/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Address vectors: from the verbs' attributes to the headers of a path. */

#include "transport/object/internal.h"

#include <errno.h>
#include <string.h>

#define FLOW_LABEL_MASK          0xfffffu
#define UDP_SOURCE_PORT_FIRST    0xc000u
#define UDP_SOURCE_PORT_VARIABLE 0x3fffu

/* A datagram path knows no remote QPN: its flow label decides, else chance. */
static uint16_t choose_udp_source_port(struct vl_device *device, uint16_t fixed_port,
				       uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn)
{
	if (fixed_port)
		return fixed_port;
	if (flow_label)
		return vl_flow_label_to_udp_source_port(flow_label);
	if (remote_qpn)
		return vl_flow_label_to_udp_source_port(
			vl_flow_label_from_qpns(local_qpn, remote_qpn));
	return (uint16_t)(UDP_SOURCE_PORT_FIRST |
			  (vl_random_next(&device->random) & UDP_SOURCE_PORT_VARIABLE));
}

/* The source: a GID table entry, or, without a GRH, the LID of an InfiniBand device. */
static int fill_source(const struct vl_device *device, const struct ibv_ah_attr *attr,
		       struct vl_path_attr *path)
{
	const struct vl_device_config *config = &device->config;
	const struct vl_gid_entry *entry = &config->gids[0];

	if (attr->is_global) {
		if (attr->grh.sgid_index >= config->gid_count)
			return -EINVAL;
		entry = &config->gids[attr->grh.sgid_index];
	}
	path->encapsulation = entry->encapsulation;
	if (vl_is_infiniband(entry->encapsulation))
		path->encapsulation =
			attr->is_global ? VL_ENCAPSULATION_IB_GLOBAL : VL_ENCAPSULATION_IB_LOCAL;
	else if (!attr->is_global)
		return -EINVAL;
	path->source_gid = entry->gid;
	path->vlan_present = entry->vlan_present;
	path->vlan_id = entry->vlan_id;
	path->source_lid = config->lid;
	memcpy(path->source_mac, config->mac, sizeof(path->source_mac));
	return 0;
}

static int find_mac(const struct vl_device *device, const uint8_t mac[6], struct vl_path_attr *path)
{
	const struct vl_device_events *events = &device->config.events;

	if (mac)
		memcpy(path->destination_mac, mac, sizeof(path->destination_mac));
	else if (!vl_is_infiniband(path->encapsulation) && events->resolve)
		return events->resolve(events->context, &path->destination_gid,
				       path->destination_mac);
	return 0;
}

int vl_path_from_attr(struct vl_device *device, const struct ibv_ah_attr *attr,
		      const uint8_t mac[6], uint16_t fixed_port, uint32_t local_qpn,
		      uint32_t remote_qpn, struct vl_path *path, uint8_t *priority)
{
	struct vl_path_attr path_attr = {0};
	int result;

	if (attr->port_num != 1 || attr->grh.flow_label > FLOW_LABEL_MASK || attr->src_path_bits)
		return -EINVAL;
	result = fill_source(device, attr, &path_attr);
	if (result)
		return result;
	if (attr->sl >
	    (vl_is_infiniband(path_attr.encapsulation) ? VL_SERVICE_LEVELS : VL_PRIORITIES) - 1)
		return -EINVAL;
	*priority = attr->sl;
	path_attr.priority = attr->sl;
	path_attr.destination_lid = attr->dlid;
	if (attr->is_global) {
		path_attr.destination_gid = attr->grh.dgid;
		path_attr.traffic_class = attr->grh.traffic_class;
		path_attr.hop_limit = attr->grh.hop_limit;
		path_attr.flow_label = attr->grh.flow_label;
	}
	path_attr.udp_source_port = choose_udp_source_port(device, fixed_port, path_attr.flow_label,
							   local_qpn, remote_qpn);
	result = find_mac(device, mac, &path_attr);
	if (result)
		return result;
	return vl_path_init(path, &path_attr);
}

struct ibv_ah *vl_create_ah(struct vl_pd *pd, const struct ibv_ah_attr *attr, int *error)
{
	return vl_create_ah_to_mac(pd, attr, NULL, error);
}

struct ibv_ah *vl_create_ah_to_mac(struct vl_pd *pd, const struct ibv_ah_attr *attr,
				   const uint8_t mac[6], int *error)
{
	struct vl_device *device = pd->device;
	struct vl_ah *ah = vl_allocate(device, sizeof(*ah));
	int result;

	if (!ah)
		return vl_refuse(error, -ENOMEM);
	result = vl_path_from_attr(device, attr, mac, 0, 0, 0, &ah->path, &ah->priority);
	if (result) {
		vl_release(device, ah, sizeof(*ah));
		return vl_refuse(error, result);
	}
	ah->ibv.pd = &pd->ibv;
	ah->pd = pd;
	vl_list_append(&pd->ahs, &ah->link);
	pd->use_count++;
	device->ah_count++;
	return &ah->ibv;
}

int vl_modify_ah(struct ibv_ah *ibv, const struct ibv_ah_attr *attr, const uint8_t mac[6])
{
	struct vl_ah *ah = (struct vl_ah *)ibv;
	struct vl_path path;
	uint8_t priority;
	int result;

	if (ah->use_count)
		return -EBUSY;
	result = vl_path_from_attr(ah->pd->device, attr, mac, 0, 0, 0, &path, &priority);
	if (result)
		return result;
	ah->path = path;
	ah->priority = priority;
	return 0;
}

int vl_destroy_ah(struct ibv_ah *ibv)
{
	struct vl_ah *ah = (struct vl_ah *)ibv;
	struct vl_device *device = ah->pd->device;

	if (ah->use_count)
		return -EBUSY;
	vl_list_remove(&ah->link);
	ah->pd->use_count--;
	device->ah_count--;
	vl_release(device, ah, sizeof(*ah));
	return 0;
}
