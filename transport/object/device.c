/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Opening, describing and closing a device. */

#include "transport/object/internal.h"

#include <errno.h>
#include <string.h>

#define DEFAULT(field, value)                                                                      \
	do {                                                                                       \
		if (!(field))                                                                      \
			(field) = (value);                                                         \
	} while (0)

static void fill_defaults(struct vl_device_config *config)
{
	if (!config->pkey_count) {
		config->pkey_count = 1;
		config->pkeys[0] = 0xffff;
	}
	DEFAULT(config->active_mtu, IBV_MTU_4096);
	DEFAULT(config->link_rate, UINT64_C(100000000000));
	DEFAULT(config->max_qp, 16384);
	DEFAULT(config->max_cq, 65536);
	DEFAULT(config->max_mr, 65536);
	DEFAULT(config->max_srq, 1024);
	DEFAULT(config->max_qp_wr, 32768);
	DEFAULT(config->max_cqe, 4194303);
	DEFAULT(config->max_qp_rd_atom, 16);
	DEFAULT(config->first_qpn, 17);
	DEFAULT(config->max_unacked_packets, 8192);
	DEFAULT(config->ack_request_interval, 64);
	DEFAULT(config->cnp_dscp, 48);
}

static bool is_valid(const struct vl_device_config *config)
{
	if (!config->allocator.allocate || !config->allocator.release)
		return false;
	if (config->gid_count < 1 || config->gid_count > VL_MAX_GIDS ||
	    config->pkey_count > VL_MAX_PKEYS)
		return false;
	for (uint32_t i = 0; i < config->gid_count; i++) {
		if (config->gids[i].encapsulation > VL_ENCAPSULATION_IB_GLOBAL ||
		    config->gids[i].vlan_id > 4095)
			return false;
	}
	if (config->cc && vl_cc_check(config->cc))
		return false;
	if (config->active_mtu < IBV_MTU_256 || config->active_mtu > IBV_MTU_4096)
		return false;
	return config->max_qp <= VL_LAST_QPN && config->max_mr < UINT32_C(1) << 24 &&
	       config->max_qp_wr <= UINT32_C(1) << 20 && config->max_cqe < UINT32_C(1) << 26 &&
	       config->max_qp_rd_atom <= 128 && config->ack_request_interval <= 32768 &&
	       config->first_qpn > VL_GSI_QPN && config->first_qpn <= VL_LAST_QPN &&
	       config->max_unacked_packets <= UINT32_C(1) << 22 && config->cnp_dscp <= 63 &&
	       (unsigned int)config->cnp_scope <= VL_CNP_SCOPE_PORT;
}

struct vl_device *vl_open_device(const struct vl_device_config *config, int *error)
{
	struct vl_device_config filled = *config;
	struct vl_device *device;

	fill_defaults(&filled);
	if (!is_valid(&filled))
		return vl_refuse(error, -EINVAL);
	device = filled.allocator.allocate(filled.allocator.context, sizeof(*device));
	if (!device)
		return vl_refuse(error, -ENOMEM);
	device->config = filled;
	device->random.state = filled.seed;
	device->next_qpn = filled.first_qpn;
	device->next_mr_index = 1;
	vl_list_init(&device->pds);
	vl_list_init(&device->cqs);
	vl_list_init(&device->retired_mrs);
	vl_list_init(&device->notifications);
	device->turns = UINT64_C(0xfedcba9876543210);
	for (int i = 0; i < VL_SERVICE_LEVELS; i++) {
		vl_list_init(&device->urgent[i]);
		vl_list_init(&device->ready[i]);
	}
	vl_timer_wheel_init(&device->wheel, 0);
	return device;
}

void vl_set_lid(struct vl_device *device, uint16_t lid)
{
	device->config.lid = lid;
}

/* Destroys the objects of a domain, users before what they use. */
static void empty_pd(struct vl_pd *pd)
{
	while (!vl_list_is_empty(&pd->ahs))
		vl_destroy_ah(&VL_CONTAINER(pd->ahs.next, struct vl_ah, link)->ibv);
	/* Windows first: a region with windows bound to it is busy. */
	for (struct vl_link *link = pd->mrs.next, *next; link != &pd->mrs; link = next) {
		struct vl_mr *mr = VL_CONTAINER(link, struct vl_mr, link);

		next = link->next;
		if (mr->kind == VL_MR_WINDOW)
			vl_dealloc_mw(&mr->window);
	}
	while (!vl_list_is_empty(&pd->mrs))
		vl_dereg_mr(&VL_CONTAINER(pd->mrs.next, struct vl_mr, link)->ibv);
}

void vl_close_device(struct vl_device *device)
{
	struct vl_allocator allocator;
	struct vl_link *link;

	if (!device)
		return;
	allocator = device->config.allocator;
	/* QPs may use the SRQs and, in requests not completed, the AHs of other domains. */
	for (link = device->pds.next; link != &device->pds; link = link->next) {
		struct vl_pd *pd = VL_CONTAINER(link, struct vl_pd, link);

		while (!vl_list_is_empty(&pd->qps))
			vl_destroy_qp(VL_CONTAINER(pd->qps.next, struct vl_qp, link));
	}
	for (link = device->pds.next; link != &device->pds; link = link->next) {
		struct vl_pd *pd = VL_CONTAINER(link, struct vl_pd, link);

		while (!vl_list_is_empty(&pd->srqs))
			vl_destroy_srq(VL_CONTAINER(pd->srqs.next, struct vl_srq, link));
	}
	while (!vl_list_is_empty(&device->pds)) {
		struct vl_pd *pd = VL_CONTAINER(device->pds.next, struct vl_pd, link);

		empty_pd(pd);
		vl_dealloc_pd(pd);
	}
	while (!vl_list_is_empty(&device->cqs))
		vl_destroy_cq(VL_CONTAINER(device->cqs.next, struct vl_cq, link));
	while (!vl_list_is_empty(&device->retired_mrs)) {
		struct vl_mr *mr = VL_CONTAINER(device->retired_mrs.next, struct vl_mr, link);

		vl_list_remove(&mr->link);
		vl_release(device, mr, sizeof(*mr));
	}
	vl_table_release(&device->qps, &allocator);
	vl_table_release(&device->mrs, &allocator);
	allocator.release(allocator.context, device, sizeof(*device));
}

void vl_query_device(const struct vl_device *device, struct ibv_device_attr *attr)
{
	const struct vl_device_config *config = &device->config;

	memset(attr, 0, sizeof(*attr));
	memcpy(attr->fw_ver, "verbline", sizeof("verbline"));
	memcpy(&attr->node_guid, config->mac, 3);
	memcpy((uint8_t *)&attr->node_guid + 3, (const uint8_t[]){0xff, 0xfe}, 2);
	memcpy((uint8_t *)&attr->node_guid + 5, config->mac + 3, 3);
	*(uint8_t *)&attr->node_guid ^= 2; /* EUI-64: the universal bit is inverted */
	attr->sys_image_guid = attr->node_guid;
	attr->max_mr_size = UINT64_MAX;
	attr->page_size_cap = UINT64_MAX & ~UINT64_C(4095);
	attr->max_qp = (int)config->max_qp;
	attr->max_qp_wr = (int)config->max_qp_wr;
	attr->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
				 IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				 IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_BAD_PKEY_CNTR |
				 IBV_DEVICE_BAD_QKEY_CNTR;
	attr->max_sge = VL_MAX_SGE;
	attr->max_sge_rd = VL_MAX_SGE;
	attr->max_cq = (int)config->max_cq;
	attr->max_cqe = (int)config->max_cqe;
	attr->max_mr = (int)config->max_mr;
	attr->max_mw = (int)config->max_mr;
	attr->max_pd = INT32_MAX;
	attr->max_ah = INT32_MAX;
	attr->max_qp_rd_atom = config->max_qp_rd_atom;
	attr->max_qp_init_rd_atom = config->max_qp_rd_atom;
	attr->max_res_rd_atom = (int)config->max_qp_rd_atom * (int)config->max_qp;
	attr->atomic_cap = IBV_ATOMIC_HCA;
	attr->max_srq = (int)config->max_srq;
	attr->max_srq_wr = (int)config->max_qp_wr;
	attr->max_srq_sge = VL_MAX_SGE;
	attr->max_pkeys = (uint16_t)config->pkey_count;
	attr->phys_port_cnt = 1;
}

/* Lanes, and ibv_port_attr's code for the rate of one: the combination nearest to the link's
 * rate that is not below it (IBTA 14.2.5.6). */
static void describe_rate(uint64_t rate, struct ibv_port_attr *attr)
{
	static const struct {
		uint32_t lane_mbps;
		uint8_t speed;
	} lanes[] = {{2500, 1},   {5000, 2},   {10000, 4},   {14000, 16},
		     {25000, 32}, {50000, 64}, {100000, 128}};
	static const struct {
		uint8_t count, width;
	} widths[] = {{1, 1}, {4, 2}, {8, 4}};

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		for (size_t j = 0; j < sizeof(lanes) / sizeof(lanes[0]); j++) {
			attr->active_width = widths[i].width;
			attr->active_speed = lanes[j].speed;
			if (rate <= (uint64_t)widths[i].count * lanes[j].lane_mbps * 1000000)
				return;
		}
	}
}

int vl_query_port(const struct vl_device *device, uint8_t port, struct ibv_port_attr *attr)
{
	const struct vl_device_config *config = &device->config;

	if (port != 1)
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = config->active_mtu;
	attr->gid_tbl_len = (int)config->gid_count;
	attr->pkey_tbl_len = (uint16_t)config->pkey_count;
	attr->max_msg_sz = VL_MAX_MESSAGE;
	attr->max_vl_num = vl_device_is_infiniband(device) ? 5 : 4; /* VL0 to VL14, or to VL7 */
	attr->phys_state = 5;                                       /* LinkUp */
	attr->bad_pkey_cntr = (uint32_t)device->drops[VL_DROP_pkey];
	attr->qkey_viol_cntr = (uint32_t)device->drops[VL_DROP_qkey];
	attr->link_layer = vl_device_is_infiniband(device) ? IBV_LINK_LAYER_INFINIBAND
							   : IBV_LINK_LAYER_ETHERNET;
	attr->lid = vl_device_is_infiniband(device) ? config->lid : 0;
	describe_rate(config->link_rate, attr);
	return 0;
}

int vl_query_gid(const struct vl_device *device, uint8_t port, uint32_t index, union ibv_gid *gid)
{
	if (port != 1 || index >= device->config.gid_count)
		return -EINVAL;
	*gid = device->config.gids[index].gid;
	return 0;
}

int vl_query_pkey(const struct vl_device *device, uint8_t port, uint32_t index, uint16_t *pkey)
{
	if (port != 1 || index >= device->config.pkey_count)
		return -EINVAL;
	*pkey = device->config.pkeys[index];
	return 0;
}

const struct vl_counters *vl_device_counters(const struct vl_device *device)
{
	return &device->counters;
}

const uint64_t *vl_device_drops(const struct vl_device *device)
{
	return device->drops;
}
