/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/describe.h"
#include "apps/inspect/entropy.h"
#include "apps/inspect/hosts.h"
#include "apps/inspect/report.h"
#include "transport/psn.h"
#include "transport/wire/opcode.h"

#include <stdio.h>
#include <string.h>

/* jansson's setters refuse a NULL value, so that one look at the end tells whether memory sufficed.
 */
struct builder {
	bool failed;
};

static void set(struct builder *builder, json_t *object, const char *key, json_t *value)
{
	builder->failed |= json_object_set_new(object, key, value) != 0;
}

static void set_count(struct builder *builder, json_t *object, const char *key, uint64_t value)
{
	set(builder, object, key, json_integer((json_int_t)value));
}

static void set_text(struct builder *builder, json_t *object, const char *key, const char *text)
{
	json_t *value = text ? json_string(text) : json_null();

	/* A file name may be no UTF-8. */
	set(builder, object, key, value ? value : json_string("?"));
}

static void append(struct builder *builder, json_t *array, json_t *value)
{
	builder->failed |= json_array_append_new(array, value) != 0;
}

static void set_hex(struct builder *builder, json_t *object, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08x", value);
	set_text(builder, object, key, text);
}

static json_t *packets_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	json_t *object = json_object();

	set_count(builder, object, "total", analysis->packets);
	set_count(builder, object, "rdma", analysis->classes[INSPECT_RDMA]);
	set_count(builder, object, "foreign", analysis->classes[INSPECT_FOREIGN]);
	set_count(builder, object, "damaged", analysis->classes[INSPECT_DAMAGED]);
	set_count(builder, object, "captured_bytes", analysis->bytes);
	set_count(builder, object, "original_bytes", analysis->original_bytes);
	return object;
}

static json_t *reasons_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	static const char *const classes[] = {"rdma", "foreign", "damaged"};
	json_t *array = json_array();

	for (unsigned int reason = 0; reason < INSPECT_REASON_COUNT; reason++) {
		const struct inspect_reason *entry = &analysis->reasons[reason];
		json_t *object, *examples;

		if (!entry->count)
			continue;
		object = json_object();
		examples = json_array();
		set_text(builder, object, "name", inspect_reason_name(reason));
		set_text(builder, object, "meaning", inspect_reason_meaning(reason));
		set_text(builder, object, "class", classes[inspect_reason_class(reason)]);
		set_count(builder, object, "count", entry->count);
		for (uint64_t i = 0; i < entry->count && i < INSPECT_EXAMPLES; i++)
			append(builder, examples, json_integer((json_int_t)entry->examples[i]));
		set(builder, object, "first_packets", examples);
		append(builder, array, object);
	}
	return array;
}

static json_t *opcodes_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	json_t *array = json_array();

	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		json_t *object;

		if (!analysis->opcodes[opcode])
			continue;
		object = json_object();
		set_count(builder, object, "opcode", opcode);
		set_text(builder, object, "name", vl_opcode_table[opcode].name);
		set_count(builder, object, "packets", analysis->opcodes[opcode]);
		append(builder, array, object);
	}
	return array;
}

static json_t *crc_json(struct builder *builder, const struct inspect_analysis *analysis,
			enum inspect_event_kind kind, uint64_t right, uint64_t wrong)
{
	json_t *object = json_object(), *errors = json_array();

	set_count(builder, object, "right", right);
	set_count(builder, object, "wrong", wrong);
	for (uint32_t i = 0; i < analysis->event_count; i++) {
		const struct inspect_event *event = &analysis->events[i];
		json_t *error;

		if (event->kind != kind)
			continue;
		error = json_object();
		set_count(builder, error, "packet", event->packet);
		set_hex(builder, error, "expected", inspect_icrc_shown(event->expected));
		set_hex(builder, error, "found", inspect_icrc_shown(event->found));
		append(builder, errors, error);
	}
	set(builder, object, "errors", errors);
	return object;
}

static json_t *lanes_json(struct builder *builder, const struct inspect_link *link)
{
	json_t *lanes = json_array();

	for (unsigned int lane = 0; lane < VL_INFINIBAND_DATA_LANES; lane++) {
		for (unsigned int side = 0; side < INSPECT_LINK_SIDES; side++) {
			const struct inspect_lane *end = &link->lanes[side][lane];
			json_t *object;

			if (!end->packets)
				continue;
			object = json_object();
			set_count(builder, object, "virtual_lane", lane);
			set_text(builder, object, "side", side ? "B" : "A");
			set_count(builder, object, "packets", end->packets);
			set_count(builder, object, "init_packets", end->init_packets);
			set_count(builder, object, "blocks_sent", end->blocks);
			if (end->has_credits) {
				set_count(builder, object, "least_credits", end->least_credits);
				set_count(builder, object, "without_credits", end->without_credits);
			}
			append(builder, lanes, object);
		}
	}
	return lanes;
}

static json_t *link_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	const struct inspect_link *link = &analysis->link;
	json_t *object = json_object();

	set_count(builder, object, "packets", link->packets);
	set_count(builder, object, "reserved", link->reserved);
	set(builder, object, "lpcrc",
	    crc_json(builder, analysis, INSPECT_EVENT_lpcrc_wrong, link->lpcrc_right,
		     link->lpcrc_wrong));
	set(builder, object, "lanes", lanes_json(builder, link));
	return object;
}

static void set_address(struct builder *builder, json_t *object, const char *key,
			const union ibv_gid *address, uint32_t encapsulation)
{
	char text[INSPECT_ADDRESS_TEXT];

	set_text(builder, object, key, inspect_address_text(address, encapsulation, text));
}

static json_t *hosts_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	json_t *array = json_array();
	struct inspect_hosts hosts;

	builder->failed |= inspect_hosts_collect(&hosts, &analysis->flows) != 0;
	for (uint32_t i = 0; i < hosts.count; i++) {
		const struct inspect_host *host = &hosts.list[i];
		json_t *object = json_object();
		char mac[32];

		set_address(builder, object, "address", &host->address, host->encapsulation);
		set_text(builder, object, "encapsulation",
			 inspect_encapsulation_text(host->encapsulation));
		snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", host->mac[0],
			 host->mac[1], host->mac[2], host->mac[3], host->mac[4], host->mac[5]);
		set_text(builder, object, "mac", mac);
		set(builder, object, "vlan_id",
		    host->vlan_present ? json_integer(host->vlan_id) : json_null());
		set_count(builder, object, "qps", host->qps);
		set_count(builder, object, "packets_sent", host->packets_sent);
		set_count(builder, object, "bytes_sent", host->bytes_sent);
		set_count(builder, object, "packets_received", host->packets_received);
		set_count(builder, object, "bytes_received", host->bytes_received);
		append(builder, array, object);
	}
	inspect_hosts_free(&hosts);
	return array;
}

static json_t *members_json(struct builder *builder, uint64_t mask)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < 64; i++) {
		if (mask >> i & 1)
			append(builder, array, json_integer(i));
	}
	return array;
}

static json_t *requests_json(struct builder *builder, const struct inspect_flow *flow)
{
	const struct inspect_requests *requests = &flow->requests;
	json_t *object = json_object(), *causes = json_object();
	set_count(builder, object, "packets", requests->packets);
	set_count(builder, object, "messages", requests->messages);
	set_count(builder, object, "read_messages", requests->reads);
	set_count(builder, object, "atomic_messages", requests->atomics);
	set_count(builder, object, "read_bytes_asked_for", requests->read_bytes);
	set_count(builder, object, "first_psn", requests->first_psn);
	set_count(builder, object, "last_psn", vl_psn_add(requests->next_psn, VL_PSN_MASK));
	set_count(builder, object, "retransmitted_packets", requests->retransmitted);
	set_count(builder, object, "retransmitted_bytes", requests->retransmitted_bytes);
	set_count(builder, object, "retransmissions", requests->retransmissions);
	for (unsigned int cause = 0; cause < INSPECT_CAUSE_COUNT; cause++)
		set_count(builder, causes, inspect_cause_name((enum inspect_cause)cause),
			  requests->runs_by_cause[cause]);
	set(builder, object, "retransmissions_by_cause", causes);
	set_count(builder, object, "unanswered_retries", requests->retries);
	set_count(builder, object, "gaps", requests->gap_events);
	set_count(builder, object, "gap_psns", requests->gap_packets);
	set_count(builder, object, "gap_psns_sent_again", requests->gap_filled);
	set_count(builder, object, "gap_psns_acknowledged", requests->gap_answered);
	set_count(builder, object, "reordered_packets", requests->reordered);
	set_count(builder, object, "duplicate_packets", requests->duplicates);
	set_count(builder, object, "lost_before_capture", requests->lost_before);
	set_count(builder, object, "lost_behind_capture", requests->lost_behind);
	set_count(builder, object, "dropped_out_of_order", requests->out_of_order);
	set_count(builder, object, "opcode_order_errors", requests->order_errors);
	set_count(builder, object, "restarts", requests->restarts);
	return object;
}

static json_t *responses_json(struct builder *builder, const struct inspect_flow *flow)
{
	const struct inspect_responses *responses = &flow->responses;
	json_t *object = json_object();

	set_count(builder, object, "packets", responses->packets);
	set_count(builder, object, "acks", responses->acks);
	set_count(builder, object, "acks_with_credit_limit", responses->limited_credits);
	set_count(builder, object, "naks", responses->naks);
	set_count(builder, object, "naks_psn_sequence", responses->nak_codes[0]);
	set_count(builder, object, "naks_invalid_request", responses->nak_codes[1]);
	set_count(builder, object, "naks_remote_access", responses->nak_codes[2]);
	set_count(builder, object, "naks_remote_operational", responses->nak_codes[3]);
	set_count(builder, object, "rnr_naks", responses->rnr_naks);
	set_count(builder, object, "read_messages", responses->reads);
	set_count(builder, object, "atomic_messages", responses->atomics);
	set_count(builder, object, "read_gaps", responses->gap_events);
	set_count(builder, object, "read_gap_psns", responses->gap_packets);
	set_count(builder, object, "read_packets_repeated", responses->repeated);
	return object;
}

static void set_marks(struct builder *builder, json_t *object, const struct inspect_flow *flow)
{
	bool udp = flow->key.encapsulation <= VL_ENCAPSULATION_ROCEV2_IPV6;

	set(builder, object, "dscps",
	    flow->key.encapsulation == VL_ENCAPSULATION_IB_LOCAL
		    ? json_array()
		    : members_json(builder, flow->dscps));
	set(builder, object, "cnp_dscps", members_json(builder, flow->cnp_dscps));
	set(builder, object, "priorities", members_json(builder, flow->priorities));
	set(builder, object, "vlan_id",
	    flow->vlan_present ? json_integer(flow->vlan_id) : json_null());
	set_count(builder, object, "ecn_not_ect", flow->ecn[VL_ECN_NOT_ECT]);
	set_count(builder, object, "ecn_ect0", flow->ecn[VL_ECN_ECT0]);
	set_count(builder, object, "ecn_ect1", flow->ecn[VL_ECN_ECT1]);
	set_count(builder, object, "ecn_ce", flow->ecn[VL_ECN_CE]);
	set_count(builder, object, "fecn", flow->fecn);
	set_count(builder, object, "becn", flow->becn);
	set_count(builder, object, "cnps", flow->cnps);
	set_count(builder, object, "first_cnp_packet", flow->first_cnp_packet);
	set(builder, object, "udp_source_port",
	    udp ? json_integer(flow->udp_source_port) : json_null());
	set_count(builder, object, "udp_source_port_changes", flow->udp_source_port_changes);
}

static json_t *flow_json(struct builder *builder, const struct inspect_flow *flow)
{
	json_t *object = json_object();
	char text[INSPECT_SMALL_TEXT];
	uint32_t own = flow->key.source_qpn;
	double before, after;

	if (!own && flow->reverse)
		own = flow->reverse->key.destination_qpn;
	set_count(builder, object, "flow", flow->index);
	set(builder, object, "reverse_flow",
	    flow->reverse ? json_integer(flow->reverse->index) : json_null());
	set_text(builder, object, "paired_by", inspect_pairing_name(flow->pairing));
	set_text(builder, object, "type", inspect_services_text(flow, text));
	set_text(builder, object, "encapsulation",
		 inspect_encapsulation_text(flow->key.encapsulation));
	set_address(builder, object, "source", &flow->key.source, flow->key.encapsulation);
	set_address(builder, object, "destination", &flow->key.destination,
		    flow->key.encapsulation);
	set(builder, object, "source_qpn", own ? json_integer(own) : json_null());
	set_count(builder, object, "destination_qpn", flow->key.destination_qpn);
	set(builder, object, "path_mtu",
	    flow->path_mtu ? json_integer(flow->path_mtu) : json_null());
	set_count(builder, object, "packets", flow->packets);
	set_count(builder, object, "bytes", flow->bytes);
	set_count(builder, object, "payload_bytes", flow->payload);
	set(builder, object, "payload_rate_bits_per_second", json_real(inspect_flow_rate(flow)));
	set_count(builder, object, "first_packet", flow->first_packet);
	set_count(builder, object, "last_packet", flow->last_packet);
	set_count(builder, object, "first_time_ns", flow->first_time);
	set_count(builder, object, "last_time_ns", flow->last_time);
	set_count(builder, object, "icrc_wrong", flow->icrc_wrong);
	set_count(builder, object, "cut_packets", flow->cut);
	set_marks(builder, object, flow);
	if (inspect_rates_around_cnp(flow, &before, &after)) {
		set(builder, object, "rate_before_first_cnp", json_real(before));
		set(builder, object, "rate_after_first_cnp", json_real(after));
	}
	set(builder, object, "requests", requests_json(builder, flow));
	set(builder, object, "responses", responses_json(builder, flow));
	return object;
}

static json_t *flows_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < analysis->flows.count; i++) {
		const struct inspect_flow *flow = inspect_flow_at(&analysis->flows, i);

		if (flow->packets || flow->reverse)
			append(builder, array, flow_json(builder, flow));
	}
	return array;
}

static json_t *events_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < analysis->event_count; i++) {
		const struct inspect_event *event = &analysis->events[i];
		json_t *object = json_object();
		char text[INSPECT_EVENT_TEXT];

		set_text(builder, object, "event", inspect_event_name(event->kind));
		set_count(builder, object, "packet", event->packet);
		set_count(builder, object, "time_ns", event->time);
		set(builder, object, "flow",
		    event->flow ? json_integer(event->flow->index) : json_null());
		set_count(builder, object, "psn", event->psn);
		set_count(builder, object, "opcode", event->opcode);
		if (event->count)
			set_count(builder, object, "count", event->count);
		if (event->kind == INSPECT_EVENT_nak || event->kind == INSPECT_EVENT_rnr)
			set_count(builder, object, "syndrome", event->syndrome);
		if (event->kind == INSPECT_EVENT_nak && !(event->syndrome & 0x1f))
			set_text(builder, object, "loss", inspect_loss_name(event->loss));
		if (event->kind == INSPECT_EVENT_retransmission) {
			set_text(builder, object, "cause", inspect_cause_name(event->cause));
			set_count(builder, object, "silence_ns", event->silence);
		}
		if (event->cause_packet)
			set_count(builder, object, "cause_packet", event->cause_packet);
		if (event->trigger_packet)
			set_count(builder, object, "trigger_packet", event->trigger_packet);
		set_text(builder, object, "text", inspect_event_text(event, text));
		append(builder, array, object);
	}
	return array;
}

static json_t *event_counts_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	json_t *object = json_object();

	for (unsigned int kind = 0; kind < INSPECT_EVENT_KIND_COUNT; kind++)
		set_count(builder, object, inspect_event_name((enum inspect_event_kind)kind),
			  analysis->event_counts[kind]);
	return object;
}

static json_t *exchanges_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	const struct inspect_exchanges *exchanges = &analysis->exchanges;
	json_t *object = json_object(), *messages = json_array();

	set_count(builder, object, "messages", exchanges->seen);
	set_count(builder, object, "other_datagrams_to_qp1", exchanges->undecoded);
	set_count(builder, object, "repeated_requests", exchanges->repeated);
	set_count(builder, object, "rejections", exchanges->rejected);
	set_count(builder, object, "unanswered_requests", inspect_unanswered_proposals(exchanges));
	for (uint32_t i = 0; i < exchanges->count; i++) {
		const struct inspect_exchange *exchange = &exchanges->list[i];
		json_t *message = json_object();
		char text[INSPECT_EXCHANGE_TEXT];

		set_count(builder, message, "packet", exchange->packet);
		set_count(builder, message, "time_ns", exchange->time);
		set_count(builder, message, "flow", exchange->flow->index);
		set_text(builder, message, "message",
			 vl_cm_message_name(exchange->message.attribute_id));
		set_count(builder, message, "transaction_id", exchange->message.transaction_id);
		set_text(builder, message, "text", inspect_exchange_text(exchange, text));
		append(builder, messages, message);
	}
	set(builder, object, "list", messages);
	return object;
}

static json_t *verdict_json(struct builder *builder, const struct inspect_verdict *verdict)
{
	json_t *object = json_object(), *findings = json_array();

	set_text(builder, object, "worst", inspect_severity_name(verdict->worst));
	for (unsigned int i = 0; i < verdict->count; i++) {
		const struct inspect_finding *finding = &verdict->findings[i];
		json_t *entry = json_object();

		set_text(builder, entry, "severity", inspect_severity_name(finding->severity));
		set_text(builder, entry, "finding", finding->name);
		set_text(builder, entry, "text", finding->text);
		set_text(builder, entry, "advice", finding->advice);
		append(builder, findings, entry);
	}
	set(builder, object, "findings", findings);
	return object;
}

static json_t *entropy_json(struct builder *builder, const struct inspect_analysis *analysis)
{
	struct inspect_entropy entropy = inspect_entropy_of(analysis->udp_source_ports);
	json_t *object = json_object();

	set_count(builder, object, "different", entropy.ports);
	set_count(builder, object, "outside_dynamic_range", entropy.outside);
	set(builder, object, "entropy_bits", json_real(entropy.bits));
	return object;
}

static void set_analysis(struct builder *builder, json_t *object, const struct inspect_file *file)
{
	const struct inspect_analysis *analysis = file->analysis;
	json_t *encapsulations = json_object();

	set(builder, object, "packets", packets_json(builder, analysis));
	set_count(builder, object, "first_time_ns", analysis->first_time);
	set_count(builder, object, "duration_ns", analysis->last_time - analysis->first_time);
	set(builder, object, "reasons", reasons_json(builder, analysis));
	for (uint32_t i = 0; i <= VL_ENCAPSULATION_IB_GLOBAL; i++)
		set_count(builder, encapsulations, inspect_encapsulation_text(i),
			  analysis->encapsulations[i]);
	set(builder, object, "encapsulations", encapsulations);
	set(builder, object, "opcodes", opcodes_json(builder, analysis));
	set(builder, object, "icrc",
	    crc_json(builder, analysis, INSPECT_EVENT_icrc_wrong, analysis->icrc_right,
		     analysis->icrc_wrong));
	set_count(builder, object, "icrc_not_checkable", analysis->icrc_unchecked);
	set(builder, object, "vcrc",
	    crc_json(builder, analysis, INSPECT_EVENT_vcrc_wrong, analysis->vcrc_right,
		     analysis->vcrc_wrong));
	set(builder, object, "flow_control", link_json(builder, analysis));
	set_count(builder, object, "pfc_frames", analysis->pfc_frames);
	set(builder, object, "pfc_priorities", members_json(builder, analysis->pfc_priorities));
	set(builder, object, "udp_source_ports", entropy_json(builder, analysis));
	set(builder, object, "hosts", hosts_json(builder, analysis));
	set_count(builder, object, "packets_of_untracked_flows", analysis->flows.overflow_packets);
	set(builder, object, "flows", flows_json(builder, analysis));
	set(builder, object, "event_counts", event_counts_json(builder, analysis));
	set(builder, object, "events", events_json(builder, analysis));
	set(builder, object, "connection_management", exchanges_json(builder, analysis));
	set(builder, object, "verdict", verdict_json(builder, file->verdict));
}

json_t *inspect_report_json(const struct inspect_file *file)
{
	struct builder builder = {false};
	json_t *object = json_object(), *stopped;

	set_text(&builder, object, "file", file->name);
	set_text(&builder, object, "format", file->format);
	stopped = json_null();
	if (file->stopped) {
		stopped = json_object();
		set_text(&builder, stopped, "reason", file->stopped);
		set_count(&builder, stopped, "packet", file->stopped_packet);
		set_count(&builder, stopped, "offset", file->stopped_offset);
	}
	set(&builder, object, "stopped", stopped);
	if (file->analysis)
		set_analysis(&builder, object, file);
	if (!builder.failed)
		return object;
	json_decref(object);
	return NULL;
}
