/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/receive_offload.h"

#include "dataplane/runtime/compat.h"
#include "dataplane/worker.h"

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf_dyn.h>

#include <string.h>

/* Between the two readings at the start: an error of a microsecond is 50 ppm, which is 2 us until
 * the next reading, twice as far away, mends it. So on up to the last interval. */
#define FIRST_BASELINE_MS 20u
#define FIRST_INTERVAL_US (2 * 1000 * FIRST_BASELINE_MS)
#define LAST_INTERVAL_US  1000000u
#define TRIES             8

uint64_t vl_receive_time_flag;
int vl_receive_time_offset;

uint64_t vl_receive_offload_wanted(uint64_t capabilities)
{
	return capabilities & (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TIMESTAMP);
}

/* ---- The clock -------------------------------------------------------------------------- */

/* The best of a few, as an interrupt may come between. */
static bool read_clocks(uint16_t device, struct vl_clock_reading *best)
{
	best->error = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = vl_worker_now(), after, ticks;

		if (rte_eth_read_clock(device, &ticks))
			return false;
		after = vl_worker_now();
		if ((after - before + 1) / 2 < best->error)
			*best = (struct vl_clock_reading){ticks, before + (after - before) / 2,
							  (after - before + 1) / 2};
	}
	return true;
}

/* On EAL's interrupt thread. */
static void correct(void *context)
{
	struct vl_receive_offload *offload = context;
	struct vl_clock_reading reading;

	if (read_clocks(offload->device, &reading)) {
		uint64_t error =
			vl_device_clock_deviation(&offload->clock, &reading) + reading.error;

		vl_device_clock_correct(&offload->clock, &reading);
		if (error > offload->clock_error || offload->interval == FIRST_INTERVAL_US)
			offload->clock_error = error;
	}
	offload->interval = RTE_MIN(2 * offload->interval, LAST_INTERVAL_US);
	rte_eal_alarm_set(offload->interval, correct, offload);
}

void vl_receive_offload_start(struct vl_receive_offload *offload, uint16_t device, uint64_t enabled)
{
	struct vl_clock_reading first, second;

	offload->device = device;
	if (!(enabled & RTE_ETH_RX_OFFLOAD_TIMESTAMP) || !read_clocks(device, &first))
		return;
	rte_delay_us_sleep(FIRST_BASELINE_MS * 1000);
	if (!read_clocks(device, &second) ||
	    !vl_device_clock_init(&offload->clock, &first, &second) ||
	    rte_mbuf_dyn_rx_timestamp_register(&vl_receive_time_offset, &vl_receive_time_flag))
		return;
	offload->interval = FIRST_INTERVAL_US;
	offload->clock_error = second.error + (first.error + second.error) * FIRST_INTERVAL_US /
						      (1000 * FIRST_BASELINE_MS);
	offload->has_time = !rte_eal_alarm_set(offload->interval, correct, offload);
}

void vl_receive_offload_stop(struct vl_receive_offload *offload)
{
	if (offload->has_time)
		rte_eal_alarm_cancel(correct, offload);
	offload->has_time = false;
}

/* ---- Frames ----------------------------------------------------------------------------- */

static bool insert_tag(struct rte_mbuf *mbuf, uint16_t tci, uint16_t type)
{
	struct rte_ether_hdr *header;

	mbuf->vlan_tci = tci;
	if (rte_vlan_insert(&mbuf))
		return false;
	header = rte_pktmbuf_mtod(mbuf, struct rte_ether_hdr *);
	header->ether_type = rte_cpu_to_be_16(type);
	return true;
}

/* With two tags stripped, the inner is in vlan_tci. */
static bool put_tags_back(struct rte_mbuf *mbuf)
{
	bool has_outer = mbuf->ol_flags & RTE_MBUF_F_RX_QINQ_STRIPPED;
	uint16_t outer = mbuf->vlan_tci_outer;

	if (!insert_tag(mbuf, mbuf->vlan_tci, RTE_ETHER_TYPE_VLAN))
		return false;
	mbuf->ol_flags &= ~RTE_MBUF_F_RX_QINQ_STRIPPED;
	return !has_outer || insert_tag(mbuf, outer, RTE_ETHER_TYPE_QINQ);
}

/* From here on the field has the workers' time, or the flag is gone. */
static void convert_time(struct vl_receive_queue_offload *own, struct rte_mbuf *mbuf, bool has_time,
			 uint64_t now)
{
	uint64_t *field = RTE_MBUF_DYNFIELD(mbuf, vl_receive_time_offset, uint64_t *);

	if (has_time && vl_clock_view_time(&own->clock, *field, now, field))
		own->timed++;
	else
		mbuf->ol_flags &= ~vl_receive_time_flag;
}

/* False: to be dropped, and counted. */
static bool keeps(struct vl_receive_queue_offload *own, struct rte_mbuf *mbuf)
{
	uint64_t flags = mbuf->ol_flags;

	if ((flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_BAD) {
		own->ip_checksum++;
		return false;
	}
	if (flags & (RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED) &&
	    !put_tags_back(mbuf)) {
		own->tag_lost++;
		return false;
	}
	return true;
}

uint16_t vl_receive_offload_apply(struct vl_receive_offload *offload, uint16_t queue,
				  struct rte_mbuf **mbufs, uint16_t count)
{
	struct vl_receive_queue_offload *own = &offload->queues[queue];
	uint64_t now = vl_receive_time_flag ? vl_worker_now() : 0;
	uint16_t kept = 0;

	if (offload->has_time)
		vl_clock_view_renew(&own->clock, &offload->clock);
	for (uint16_t i = 0; i < count; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		if (mbuf->ol_flags & vl_receive_time_flag)
			convert_time(own, mbuf, offload->has_time, now);
		if (keeps(own, mbuf))
			mbufs[kept++] = mbuf;
		else
			rte_pktmbuf_free(mbuf);
	}
	return kept;
}
