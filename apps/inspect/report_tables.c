/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/report_tables.h"

#include "apps/inspect/describe.h"
#include "apps/inspect/hosts.h"
#include "apps/inspect/table.h"
#include "transport/psn.h"
#include "transport/wire/opcode.h"

#include <inttypes.h>
#include <string.h>

void inspect_print_hosts(const struct inspect_printer *printer)
{
	static const char *const headings[] = {"address", "MAC",      "VLAN", "QPs", "sent",
					       "",        "received", "",     "as"};
	struct inspect_hosts hosts;
	struct inspect_table table;
	uint32_t i;

	if (inspect_hosts_collect(&hosts, &printer->analysis->flows))
		return;
	if (hosts.count)
		inspect_print_heading(printer, "Hosts");
	inspect_table_init(&table, headings, "llrrrrrrl");
	for (i = 0; i < hosts.count && i < printer->style->lines; i++) {
		const struct inspect_host *host = &hosts.list[i];
		static const uint8_t no_mac[6];
		char address[INSPECT_ADDRESS_TEXT], text[INSPECT_SMALL_TEXT];

		inspect_table_cell(
			&table, "%s",
			inspect_address_text(&host->address, host->encapsulation, address));
		if (memcmp(host->mac, no_mac, sizeof(no_mac)))
			inspect_table_cell(&table, "%02x:%02x:%02x:%02x:%02x:%02x", host->mac[0],
					   host->mac[1], host->mac[2], host->mac[3], host->mac[4],
					   host->mac[5]);
		else
			inspect_table_cell(&table, "%s", "");
		if (host->vlan_present)
			inspect_table_cell(&table, "%u", host->vlan_id);
		else
			inspect_table_cell(&table, "%s", "");
		inspect_table_cell(&table, "%" PRIu32, host->qps);
		inspect_table_cell(&table, "%s", inspect_count_text(host->packets_sent, text));
		inspect_table_cell(&table, "%s", inspect_bytes_text(host->bytes_sent, text));
		inspect_table_cell(&table, "%s", inspect_count_text(host->packets_received, text));
		inspect_table_cell(&table, "%s", inspect_bytes_text(host->bytes_received, text));
		inspect_table_cell(&table, "%s", inspect_encapsulation_text(host->encapsulation));
	}
	inspect_table_print(&table, printer->out, printer->style->colour);
	inspect_print_rest(printer, hosts.count - i, "hosts");
	inspect_hosts_free(&hosts);
}

/* Goes through the flows so that the halves of a connection stand together. */
struct walk {
	const struct inspect_flow_table *flows;
	uint32_t at;
	const struct inspect_flow *first_half; /* whose other half is next */
};

static const struct inspect_flow *next_flow(struct walk *walk, bool *is_second)
{
	*is_second = true;
	if (walk->first_half) {
		const struct inspect_flow *second = walk->first_half->reverse;

		walk->first_half = NULL;
		if (second->packets)
			return second;
	}
	*is_second = false;
	while (walk->at < walk->flows->count) {
		const struct inspect_flow *flow = inspect_flow_at(walk->flows, walk->at++);
		const struct inspect_flow *reverse = flow->reverse;

		if (!flow->packets)
			continue;
		if (reverse && reverse->packets && reverse->index < flow->index)
			continue;
		walk->first_half = reverse ? flow : NULL;
		return flow;
	}
	return NULL;
}

static void flow_cells(struct inspect_table *table, const struct inspect_flow *flow, bool is_second)
{
	char address[INSPECT_ADDRESS_TEXT], text[INSPECT_SMALL_TEXT];
	uint32_t own = flow->key.source_qpn;

	if (!own && flow->reverse)
		own = flow->reverse->key.destination_qpn;
	inspect_address_text(&flow->key.source, flow->key.encapsulation, address);
	inspect_table_cell(table, "%s", is_second ? "" : inspect_services_text(flow, text));
	if (own)
		inspect_table_cell(table, "%s 0x%x", address, own);
	else
		inspect_table_cell(table, "%s ?", address);
	inspect_table_cell(
		table, "%s 0x%x",
		inspect_address_text(&flow->key.destination, flow->key.encapsulation, address),
		flow->key.destination_qpn);
}

static void append(char *text, size_t size, uint64_t count, const char *what)
{
	size_t used = strlen(text);

	if (count)
		snprintf(text + used, size - used, "%s%" PRIu64 " %s", used ? ", " : "", count,
			 what);
}

static void answers_cell(struct inspect_table *table, const struct inspect_flow *flow)
{
	const struct inspect_responses *responses = &flow->responses;
	char text[128] = "";

	append(text, sizeof(text), responses->acks, "ACK");
	append(text, sizeof(text), responses->reads, "READ");
	append(text, sizeof(text), responses->atomics, "atomic");
	append(text, sizeof(text), responses->naks, "NAK");
	append(text, sizeof(text), responses->rnr_naks, "RNR");
	append(text, sizeof(text), flow->cnps, "CNP");
	inspect_table_cell(table, "%s", text);
}

void inspect_print_flows(const struct inspect_printer *printer)
{
	static const char *const headings[] = {"type",     "from QP", "to QP", "MTU",  "packets",
					       "messages", "payload", "rate",  "PSNs", "answers"};
	struct walk walk = {.flows = &printer->analysis->flows};
	const struct inspect_flow *flow;
	struct inspect_table table;
	unsigned int shown = 0;
	uint64_t rest = 0;
	bool is_second;

	if (!walk.flows->count)
		return;
	inspect_print_heading(printer, "QPs");
	inspect_table_init(&table, headings, "lllrrrrrll");
	while ((flow = next_flow(&walk, &is_second))) {
		char text[INSPECT_SMALL_TEXT];
		bool requests = flow->requests.packets;

		if (shown >= printer->style->lines) {
			rest++;
			continue;
		}
		shown++;
		flow_cells(&table, flow, is_second);
		if (flow->path_mtu && !is_second)
			inspect_table_cell(&table, "%" PRIu32, flow->path_mtu);
		else
			inspect_table_cell(&table, "%s", "");
		inspect_table_cell(&table, "%s", inspect_count_text(flow->packets, text));
		inspect_table_cell(&table, "%s",
				   requests ? inspect_count_text(flow->requests.messages, text)
					    : "");
		inspect_table_cell(&table, "%s",
				   flow->payload ? inspect_bytes_text(flow->payload, text) : "");
		inspect_table_cell(&table, "%s",
				   inspect_flow_rate(flow) > 0
					   ? inspect_rate_text(inspect_flow_rate(flow), text)
					   : "");
		if (requests)
			inspect_table_cell(&table, "%06x-%06x", flow->requests.first_psn,
					   vl_psn_add(flow->requests.next_psn, VL_PSN_MASK));
		else
			inspect_table_cell(&table, "%s", "");
		answers_cell(&table, flow);
	}
	inspect_table_print(&table, printer->out, printer->style->colour);
	inspect_print_rest(printer, rest, "flows");
}

static void count_cell(struct inspect_table *table, uint64_t count)
{
	char text[INSPECT_SMALL_TEXT];

	inspect_table_cell(table, "%s", count ? inspect_count_text(count, text) : "");
}

void inspect_print_losses(const struct inspect_printer *printer)
{
	static const char *const headings[] = {"type",    "from QP",  "to QP",       "sent again",
					       "in runs", "timeouts", "missing PSN", "reordered",
					       "copies",  "READ gap", "READ again",  "wrong ICRC",
					       "restarts"};
	struct walk walk = {.flows = &printer->analysis->flows};
	const struct inspect_flow *flow;
	struct inspect_table table;
	unsigned int shown = 0;
	uint64_t rest = 0;
	bool is_second;

	inspect_table_init(&table, headings, "lllrrrrrrrrrr");
	while ((flow = next_flow(&walk, &is_second))) {
		const struct inspect_requests *requests = &flow->requests;
		const struct inspect_responses *responses = &flow->responses;

		if (!requests->retransmitted && !requests->gap_packets && !requests->duplicates &&
		    !responses->gap_packets && !responses->repeated && !flow->icrc_wrong &&
		    !requests->restarts)
			continue;
		if (shown++ >= printer->style->lines) {
			rest++;
			continue;
		}
		flow_cells(&table, flow, false);
		count_cell(&table, requests->retransmitted);
		count_cell(&table, requests->retransmissions);
		count_cell(&table, requests->runs_by_cause[INSPECT_CAUSE_TIMEOUT]);
		count_cell(&table, requests->gap_packets);
		count_cell(&table, requests->reordered);
		count_cell(&table, requests->duplicates);
		count_cell(&table, responses->gap_packets);
		count_cell(&table, responses->repeated);
		count_cell(&table, flow->icrc_wrong);
		count_cell(&table, requests->restarts);
	}
	if (shown)
		inspect_print_heading(printer, "Lost and sent again");
	inspect_table_print(&table, printer->out, printer->style->colour);
	inspect_print_rest(printer, rest, "flows");
}

/* "26" or "0,26"; of a mask that holds many, the first few. */
static const char *members_text(uint64_t mask, char text[INSPECT_SMALL_TEXT])
{
	size_t used = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < 64; i++) {
		if (!(mask >> i & 1))
			continue;
		if (used > INSPECT_SMALL_TEXT - 8) {
			strcpy(text + used, ",...");
			break;
		}
		used += (size_t)snprintf(text + used, INSPECT_SMALL_TEXT - used, "%s%u",
					 used ? "," : "", i);
	}
	return text;
}

/* "26, CNP 48" */
static void dscp_cell(struct inspect_table *table, const struct inspect_flow *flow)
{
	char data[INSPECT_SMALL_TEXT], cnp[INSPECT_SMALL_TEXT];

	if (flow->key.encapsulation == VL_ENCAPSULATION_IB_LOCAL)
		inspect_table_cell(table, "%s", "");
	else
		inspect_table_cell(table, "%s%s%s%s", members_text(flow->dscps, data),
				   flow->dscps && flow->cnp_dscps ? ", " : "",
				   flow->cnp_dscps ? "CNP " : "",
				   members_text(flow->cnp_dscps, cnp));
}

void inspect_print_classes(const struct inspect_printer *printer)
{
	static const char *const headings[] = {
		"type", "from QP", "to QP", "DSCP", "class",          "ECT",
		"CE",   "CNP",     "FECN",  "BECN", "UDP source port"};
	struct walk walk = {.flows = &printer->analysis->flows};
	const struct inspect_flow *flow;
	struct inspect_table table;
	unsigned int shown = 0;
	uint64_t rest = 0;
	bool is_second;

	if (!walk.flows->count)
		return;
	inspect_print_heading(printer, "Classes and marks");
	inspect_table_init(&table, headings, "lllllrrrrrl");
	while ((flow = next_flow(&walk, &is_second))) {
		bool infiniband = vl_is_infiniband(flow->key.encapsulation);
		char text[INSPECT_SMALL_TEXT];

		if (shown >= printer->style->lines) {
			rest++;
			continue;
		}
		shown++;
		flow_cells(&table, flow, is_second);
		dscp_cell(&table, flow);
		if (infiniband || flow->vlan_present)
			inspect_table_cell(&table, "%s %s", infiniband ? "SL" : "PCP",
					   members_text(flow->priorities, text));
		else
			inspect_table_cell(&table, "untagged");
		count_cell(&table, flow->ecn[VL_ECN_ECT0] + flow->ecn[VL_ECN_ECT1]);
		count_cell(&table, flow->ecn[VL_ECN_CE]);
		count_cell(&table, flow->cnps);
		count_cell(&table, flow->fecn);
		count_cell(&table, flow->becn - (flow->becn < flow->cnps ? 0 : flow->cnps));
		if (flow->key.encapsulation > VL_ENCAPSULATION_ROCEV2_IPV6)
			inspect_table_cell(&table, "%s", "");
		else if (flow->udp_source_port_changes)
			inspect_table_cell(&table, "%u, changes %" PRIu64 " time%s",
					   flow->udp_source_port, flow->udp_source_port_changes,
					   flow->udp_source_port_changes == 1 ? "" : "s");
		else
			inspect_table_cell(&table, "%u", flow->udp_source_port);
	}
	inspect_table_print(&table, printer->out, printer->style->colour);
	inspect_print_rest(printer, rest, "flows");
}

void inspect_print_opcodes(const struct inspect_printer *printer)
{
	static const char *const headings[] = {"code", "opcode", "packets", "share"};
	const struct inspect_analysis *analysis = printer->analysis;
	struct inspect_table table;

	inspect_print_heading(printer, "Opcodes");
	inspect_table_init(&table, headings, "llrr");
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		uint64_t count = analysis->opcodes[opcode];
		char text[INSPECT_SMALL_TEXT];

		if (!count)
			continue;
		inspect_table_cell(&table, "0x%02x", opcode);
		inspect_table_cell(&table, "%s", vl_opcode_table[opcode].name);
		inspect_table_cell(&table, "%s", inspect_count_text(count, text));
		inspect_table_cell(&table, "%.1f%%",
				   100.0 * (double)count / (double)analysis->classes[INSPECT_RDMA]);
	}
	inspect_table_print(&table, printer->out, printer->style->colour);
}

/* Sides are named as Wireshark names the capture interfaces of ERF. */
void inspect_print_credits(const struct inspect_printer *printer)
{
	static const char *const headings[] = {
		"VL",        "side",          "packets",           "init",
		"data sent", "least credits", "without any credit"};
	const struct inspect_link *link = &printer->analysis->link;
	struct inspect_table table;
	char text[INSPECT_SMALL_TEXT];

	if (link->packets == link->lpcrc_wrong + link->reserved)
		return;
	inspect_print_heading(printer, "Flow control of the link");
	inspect_table_init(&table, headings, "rlrrrrr");
	for (unsigned int lane = 0; lane < VL_INFINIBAND_DATA_LANES; lane++) {
		for (unsigned int side = 0; side < INSPECT_LINK_SIDES; side++) {
			const struct inspect_lane *end = &link->lanes[side][lane];

			if (!end->packets)
				continue;
			inspect_table_cell(&table, "%u", lane);
			inspect_table_cell(&table, "port %c", 'A' + side);
			count_cell(&table, end->packets);
			count_cell(&table, end->init_packets);
			inspect_table_cell(
				&table, "%s",
				inspect_bytes_text(end->blocks * VL_FLOW_CONTROL_BLOCK, text));
			if (end->has_credits) {
				inspect_table_cell(&table, "%u", end->least_credits);
				inspect_table_cell(&table, "%" PRIu64, end->without_credits);
			} else {
				inspect_table_cell(&table, "%s", "");
				inspect_table_cell(&table, "%s", "");
			}
		}
	}
	inspect_table_print(&table, printer->out, printer->style->colour);
}
