/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One end of a flow. Sorted by host, ends of one host stand together, and of these the ones that
 * name the same QP. */
struct end {
	const struct inspect_flow *flow;
	bool receives;
};

static const union ibv_gid *address_of(const struct end *end)
{
	return end->receives ? &end->flow->key.destination : &end->flow->key.source;
}

static int compare_hosts(const struct end *one, const struct end *other)
{
	uint32_t a = one->flow->key.encapsulation, b = other->flow->key.encapsulation;

	if (a != b)
		return a < b ? -1 : 1;
	return memcmp(address_of(one), address_of(other), sizeof(union ibv_gid));
}

static int compare_ends(const void *a, const void *b)
{
	const struct end *one = a, *other = b;
	int order = compare_hosts(one, other);

	if (order)
		return order;
	if (one->receives != other->receives)
		return one->receives ? 1 : -1;
	if (one->flow->key.destination_qpn != other->flow->key.destination_qpn)
		return one->flow->key.destination_qpn < other->flow->key.destination_qpn ? -1 : 1;
	return one->flow->index < other->flow->index ? -1 : 1;
}

static int compare_appearance(const void *a, const void *b)
{
	const struct inspect_host *one = a, *other = b;

	if (one->first_flow != other->first_flow)
		return one->first_flow < other->first_flow ? -1 : 1;
	return 0;
}

static void add_end(struct inspect_host *host, const struct end *end, uint32_t *last_qpn)
{
	const struct inspect_flow *flow = end->flow;
	const uint8_t *mac = end->receives ? flow->destination_mac : flow->source_mac;
	uint32_t appearance = flow->index * 2 + end->receives;

	if (appearance < host->first_flow) {
		host->first_flow = appearance;
		memcpy(host->mac, mac, sizeof(host->mac));
		host->vlan_present = flow->vlan_present;
		host->vlan_id = flow->vlan_id;
	}
	if (end->receives) {
		host->packets_received += flow->packets;
		host->bytes_received += flow->bytes;
		host->qps += flow->key.destination_qpn != *last_qpn;
		*last_qpn = flow->key.destination_qpn;
	} else {
		host->packets_sent += flow->packets;
		host->bytes_sent += flow->bytes;
	}
}

int inspect_hosts_collect(struct inspect_hosts *hosts, const struct inspect_flow_table *flows)
{
	struct end *ends = malloc((flows->count ? flows->count : 1) * 2 * sizeof(*ends));
	uint32_t end_count = 0, last_qpn = UINT32_MAX;

	*hosts = (struct inspect_hosts){
		.list = calloc((size_t)flows->count * 2 + 1, sizeof(*hosts->list)),
	};
	if (!ends || !hosts->list) {
		free(ends);
		inspect_hosts_free(hosts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct inspect_flow *flow = inspect_flow_at(flows, i);

		if (!flow->packets)
			continue;
		ends[end_count++] = (struct end){flow, false};
		ends[end_count++] = (struct end){flow, true};
	}
	qsort(ends, end_count, sizeof(*ends), compare_ends);
	for (uint32_t i = 0; i < end_count; i++) {
		if (!i || compare_hosts(&ends[i - 1], &ends[i])) {
			hosts->list[hosts->count++] = (struct inspect_host){
				.address = *address_of(&ends[i]),
				.encapsulation = ends[i].flow->key.encapsulation,
				.first_flow = UINT32_MAX,
			};
			last_qpn = UINT32_MAX;
		}
		add_end(&hosts->list[hosts->count - 1], &ends[i], &last_qpn);
	}
	free(ends);
	qsort(hosts->list, hosts->count, sizeof(*hosts->list), compare_appearance);
	return 0;
}

void inspect_hosts_free(struct inspect_hosts *hosts)
{
	free(hosts->list);
	hosts->list = NULL;
	hosts->count = 0;
}
