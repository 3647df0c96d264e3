/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/telemetry_port.h"

#include <errno.h>
#include <stdio.h>

int vl_telemetry_index(const char *parameters, uint32_t count)
{
	uint64_t number;

	if (vl_telemetry_numbers(parameters, &number, 1) != 1 || number >= count)
		return -EINVAL;
	return (int)number;
}

void vl_telemetry_put_port(struct vl_telemetry_reply *reply, struct vl_port *port)
{
	struct vl_port_statistics statistics;
	char mac[18];

	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", port->mac[0], port->mac[1],
		 port->mac[2], port->mac[3], port->mac[4], port->mac[5]);
	vl_telemetry_put_text(reply, "name", port->name);
	vl_telemetry_put_text(reply, "mac", mac);
	vl_telemetry_put_number(reply, "mtu", port->mtu);
	vl_telemetry_put_number(reply, "link_rate_bps", port->link_rate);
	vl_port_statistics(port, &statistics);
	vl_telemetry_put_number(reply, "rx_frames", statistics.rx_frames);
	vl_telemetry_put_number(reply, "rx_bytes", statistics.rx_bytes);
	vl_telemetry_put_number(reply, "tx_frames", statistics.tx_frames);
	vl_telemetry_put_number(reply, "tx_bytes", statistics.tx_bytes);
	vl_telemetry_put_number(reply, "rx_missed", statistics.rx_missed);
	vl_telemetry_put_number(reply, "rx_errors", statistics.rx_errors);
	vl_telemetry_put_number(reply, "rx_nombuf", statistics.rx_nombuf);
	vl_telemetry_put_number(reply, "tx_errors", statistics.tx_errors);
	vl_telemetry_put_number(reply, "rx_ip_checksum", statistics.rx_ip_checksum);
	vl_telemetry_put_number(reply, "rx_tag_lost", statistics.rx_tag_lost);
	vl_telemetry_put_number(reply, "rx_timed", statistics.rx_timed);
	vl_telemetry_put_text(reply, "arrival_clock", vl_port_arrival_clock(port));
	vl_telemetry_put_number(reply, "arrival_clock_error_ns", vl_port_arrival_error(port));
}

void vl_telemetry_put_worker(struct vl_telemetry_reply *reply,
			     const struct vl_worker_counters *counters)
{
	vl_telemetry_put_number(reply, "rounds", counters->rounds);
	vl_telemetry_put_number(reply, "busy_rounds", counters->busy_rounds);
	vl_telemetry_put_number(reply, "busy_ns", counters->busy_time);
	vl_telemetry_put_number(reply, "total_ns", counters->total_time);
	vl_telemetry_put_number(reply, "frames", counters->frames);
}

void vl_telemetry_put_pauses(struct vl_telemetry_reply *reply, const struct vl_pfc_receiver *pauses,
			     uint64_t now)
{
	char name[32];

	vl_telemetry_put_number(reply, "global_pauses_rx", pauses->global_frames);
	for (uint8_t i = 0; i < VL_PFC_PRIORITIES; i++) {
		snprintf(name, sizeof(name), "pauses_rx_%u", i);
		vl_telemetry_put_number(reply, name, pauses->frames[i]);
		snprintf(name, sizeof(name), "resumes_rx_%u", i);
		vl_telemetry_put_number(reply, name, pauses->resumes[i]);
		snprintf(name, sizeof(name), "paused_ns_%u", i);
		vl_telemetry_put_number(reply, name, vl_pfc_receiver_paused_time(pauses, i, now));
	}
}
