/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a run of instances has come to, for people and for programs. */

#include "apps/endpoint/run.h"
#include "apps/host/addresses.h"
#include "apps/quantity.h"
#include "apps/report/machine.h"
#include "dataplane/runtime/host.h"

#include <inttypes.h>
#include <string.h>

/* Adds a structure of nothing but uint64_t. */
static void add_counters(void *sum, const void *other, size_t size)
{
	uint64_t *to = sum;
	const uint64_t *from = other;

	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		to[i] += from[i];
}
#define ADD(sum, other) add_counters(&(sum), &(other), sizeof(sum))

void vl_endpoint_run_status(const struct vl_endpoint_run *run, struct vl_instance_status *all)
{
	struct vl_instance_status one;

	memset(all, 0, sizeof(*all));
	for (uint32_t i = 0; i < run->instance_count; i++) {
		vl_instance_status(run->instances[i], &one);
		all->sessions += one.sessions;
		all->cm_usage.connections += one.cm_usage.connections;
		all->cm_usage.half_open += one.cm_usage.half_open;
		all->cm_usage.established += one.cm_usage.established;
		all->cm_usage.time_wait += one.cm_usage.time_wait;
		all->control_sessions += one.control_sessions;
		ADD(all->session, one.session);
		ADD(all->cm, one.cm);
		ADD(all->ucmatose, one.ucmatose);
		ADD(all->udaddy, one.udaddy);
		all->rping_pings += one.rping_pings;
		all->rping_errors += one.rping_errors;
		all->exercise_over += one.exercise_over;
		all->exercise_failures += one.exercise_failures;
		all->control_requests += one.control_requests;
		all->control_errors += one.control_errors;
		all->control_qps += one.control_qps;
		all->client_done += one.client_done;
		all->client_over += one.client_over;
		all->client_failed += one.client_failed;
		all->client_mismatches += one.client_mismatches;
	}
}

static void sum_histograms(const struct vl_endpoint_run *run, struct vl_histogram *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint32_t i = 0; i < run->instance_count; i++)
		vl_histogram_add(sum, vl_instance_round_trip(run->instances[i]));
}

static void sum_devices(const struct vl_endpoint_run *run, struct vl_counters *counters,
			uint64_t drops[VL_DROP_COUNT])
{
	memset(counters, 0, sizeof(*counters));
	memset(drops, 0, VL_DROP_COUNT * sizeof(*drops));
	for (uint32_t i = 0; i < run->instance_count; i++) {
		const struct vl_device *device =
			vl_host_endpoint(run->session.host, i / run->session.worker_count,
					 i % run->session.worker_count)
				->device;

		ADD(*counters, *vl_device_counters(device));
		for (int reason = 0; reason < VL_DROP_COUNT; reason++)
			drops[reason] += vl_device_drops(device)[reason];
	}
}

/* ---- For people ----------------------------------------------------------------------------- */

static void print_services(const struct vl_endpoint_run *run,
			   const struct vl_instance_status *status, FILE *out)
{
	unsigned int services = run->instance.services;

	if (services & 1u << VL_INSTANCE_RPING)
		fprintf(out, "  rping      %" PRIu64 " pings, %" PRIu64 " errors\n",
			status->rping_pings, status->rping_errors);
	if (services & 1u << VL_INSTANCE_UCMATOSE)
		fprintf(out, "  ucmatose   %" PRIu64 " messages sent, %" PRIu64 " received\n",
			status->ucmatose.sent, status->ucmatose.received);
	if (services & 1u << VL_INSTANCE_UDADDY)
		fprintf(out,
			"  udaddy     %" PRIu64 " resolved, %" PRIu64
			" datagrams received, %" PRIu64 " sent back\n",
			status->udaddy.requests, status->udaddy.received, status->udaddy.sent);
	if (services & 1u << VL_INSTANCE_EXERCISE)
		fprintf(out, "  exercise   %" PRIu64 " conversations, %" PRIu64 " failures\n",
			status->exercise_over, status->exercise_failures);
	if (services & 1u << VL_INSTANCE_CONTROL)
		fprintf(out,
			"  control    %" PRIu64 " requests, %" PRIu64 " errors, %" PRIu64
			" queue pairs made\n",
			status->control_requests, status->control_errors, status->control_qps);
}

static void print_client(const struct vl_endpoint_run *run, const struct vl_instance_status *status,
			 FILE *out)
{
	struct vl_histogram round_trip;

	fprintf(out, "%s: %" PRIu64 " of %u connections over, %" PRIu64 " failed, %" PRIu64 " %s",
		vl_instance_service_names[run->client->service], status->client_over,
		run->client->connections, status->client_failed, status->client_done,
		run->client->service == VL_INSTANCE_RPING      ? "pings"
		: run->client->service == VL_INSTANCE_EXERCISE ? "conversations"
							       : "messages came back");
	if (status->client_mismatches)
		fprintf(out, ", %" PRIu64 " ALTERED", status->client_mismatches);
	fprintf(out, "\n");
	sum_histograms(run, &round_trip);
	if (round_trip.count)
		fprintf(out,
			"round trip (SEND, READ, SEND, SEND, WRITE, SEND): min %.1f, p50 %.1f, "
			"p99 %.1f, max %.1f us\n",
			(double)round_trip.least / 1e3,
			(double)vl_histogram_percentile(&round_trip, 0.5) / 1e3,
			(double)vl_histogram_percentile(&round_trip, 0.99) / 1e3,
			(double)round_trip.most / 1e3);
}

/* Pauses are for the port: each of its workers obeys the same ones. */
static uint64_t port_paused(const struct vl_endpoint_run *run, uint32_t port, uint8_t priority)
{
	uint64_t most = 0;

	for (uint32_t worker = 0; worker < run->session.worker_count; worker++) {
		const struct vl_endpoint *endpoint =
			vl_host_endpoint(run->session.host, port, worker);
		uint64_t time = vl_pfc_receiver_paused_time(&endpoint->pause, priority,
							    vl_host_now(run->session.host));

		if (time > most)
			most = time;
	}
	return most;
}

static void print_pauses(const struct vl_endpoint_run *run, FILE *out)
{
	char text[VL_QUANTITY_TEXT];

	for (uint32_t port = 0; port < run->instance_count / run->session.worker_count; port++) {
		for (uint8_t n = 0; n < VL_PFC_PRIORITIES; n++) {
			uint64_t time = port_paused(run, port, n);

			if (time)
				fprintf(out, "  paused by the peer's PFC: class %u of %s for %s\n",
					n, vl_host_port(run->session.host, port)->name,
					vl_quantity_text(VL_QUANTITY_DURATION, time, text));
		}
	}
}

void vl_endpoint_report_print(const struct vl_endpoint_run *run, FILE *out)
{
	static const char *const drop_names[] = {
#define NAME(name, meaning) [VL_DROP_##name] = meaning,
		VL_DROPS(NAME)
#undef NAME
	};
	struct vl_instance_status status;
	struct vl_counters counters;
	uint64_t drops[VL_DROP_COUNT];

	vl_endpoint_run_status(run, &status);
	sum_devices(run, &counters, drops);
	if (run->client)
		print_client(run, &status, out);
	fprintf(out,
		"%.1f s: %" PRIu64 " sessions established, %" PRIu64 " ended, %" PRIu64
		" failed, %" PRIu64 " refused by us, %" PRIu64 " by peers, %" PRIu64
		" unreachable\n",
		(double)run->elapsed / 1e9, status.session.established, status.session.ended,
		status.session.failed, status.session.refused, status.session.rejected,
		status.session.unreachable);
	print_services(run, &status, out);
	fprintf(out,
		"  packets    %" PRIu64 " data out (%" PRIu64 " again), %" PRIu64 " in; %" PRIu64
		" ACKs out, %" PRIu64 " in; %" PRIu64 " NAKs out, %" PRIu64 " in; %" PRIu64
		" RNR NAKs out, %" PRIu64 " in\n",
		counters.data_frames_tx, counters.data_frames_retransmitted,
		counters.data_frames_rx, counters.ack_tx, counters.ack_rx, counters.nak_tx,
		counters.nak_rx, counters.rnr_nak_tx, counters.rnr_nak_rx);
	fprintf(out,
		"  CM         %" PRIu64 " messages out (%" PRIu64 " again), %" PRIu64
		" in (%" PRIu64 " again)\n",
		status.cm.mad_tx, status.cm.retransmitted, status.cm.mad_rx,
		status.cm.duplicates_rx);
	print_pauses(run, out);
	for (int reason = 0; reason < VL_DROP_COUNT; reason++) {
		if (drops[reason])
			fprintf(out, "  dropped    %" PRIu64 " packets: %s\n", drops[reason],
				drop_names[reason]);
	}
}

/* ---- For programs --------------------------------------------------------------------------- */

static json_t *counters_json(const struct vl_counters *counters)
{
	json_t *object = json_object();

#define SET(name, unit, meaning)                                                                   \
	json_object_set_new(object, #name, json_integer((json_int_t)counters->name));
	VL_COUNTERS(SET)
#undef SET
	return object;
}

static json_t *session_counters_json(const struct vl_session_counters *counters)
{
	json_t *object = json_object();

#define SET(name, unit, meaning)                                                                   \
	json_object_set_new(object, #name, json_integer((json_int_t)counters->name));
	VL_SESSION_COUNTERS(SET)
#undef SET
	return object;
}

static json_t *cm_json(const struct vl_cm_counters *counters)
{
	json_t *object = json_object();

#define SET(name, unit, meaning)                                                                   \
	json_object_set_new(object, #name, json_integer((json_int_t)counters->name));
	VL_CM_COUNTERS(SET)
#undef SET
	return object;
}

static json_t *services_json(const struct vl_instance_status *status)
{
	return json_pack(
		"{s:{s:I, s:I}, s:{s:I, s:I}, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I}, "
		"s:{s:I, s:I, s:I}}",
		"rping", "pings", (json_int_t)status->rping_pings, "errors",
		(json_int_t)status->rping_errors, "ucmatose", "message_tx",
		(json_int_t)status->ucmatose.sent, "message_rx",
		(json_int_t)status->ucmatose.received, "udaddy", "requests",
		(json_int_t)status->udaddy.requests, "message_rx",
		(json_int_t)status->udaddy.received, "message_tx", (json_int_t)status->udaddy.sent,
		"dropped", (json_int_t)status->udaddy.dropped, "exercise", "conversations",
		(json_int_t)status->exercise_over, "failures",
		(json_int_t)status->exercise_failures, "control", "requests",
		(json_int_t)status->control_requests, "errors", (json_int_t)status->control_errors,
		"qps", (json_int_t)status->control_qps);
}

static json_t *round_trip_json(const struct vl_endpoint_run *run)
{
	struct vl_histogram sum;

	sum_histograms(run, &sum);
	if (!sum.count)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "count", (json_int_t)sum.count,
			 "min_ns", (json_int_t)sum.least, "p50_ns",
			 (json_int_t)vl_histogram_percentile(&sum, 0.5), "p99_ns",
			 (json_int_t)vl_histogram_percentile(&sum, 0.99), "p99_9_ns",
			 (json_int_t)vl_histogram_percentile(&sum, 0.999), "max_ns",
			 (json_int_t)sum.most, "mean_ns", vl_histogram_mean(&sum));
}

static json_t *client_json(const struct vl_endpoint_run *run,
			   const struct vl_instance_status *status)
{
	char text[VL_ADDRESS_TEXT];

	if (!run->client)
		return json_null();
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "service",
			 vl_instance_service_names[run->client->service], "destination",
			 vl_address_text(&run->client->destination, text), "connections",
			 (json_int_t)run->client->connections, "count",
			 (json_int_t)run->client->count, "size", (json_int_t)run->client->size,
			 "over", (json_int_t)status->client_over, "failed",
			 (json_int_t)status->client_failed, "done", (json_int_t)status->client_done,
			 "mismatches", (json_int_t)status->client_mismatches, "round_trip",
			 round_trip_json(run));
}

struct record_list {
	json_t *array;
	uint32_t port, worker;
};

static void add_record(void *context, const struct vl_session_record *record)
{
	struct record_list *list = context;
	char text[VL_ADDRESS_TEXT];

	json_array_append_new(
		list->array,
		json_pack("{s:s, s:s, s:i, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:s, s:o}",
			  "service", record->service, "peer",
			  vl_address_text(&record->remote, text), "peer_port",
			  (int)record->remote_port, "role",
			  record->is_active ? "active" : "passive", "port", (int)list->port,
			  "worker", (int)list->worker, "local_qpn", (int)record->local_qpn,
			  "remote_qpn", (int)record->remote_qpn, "opened_ns",
			  (json_int_t)record->opened, "established_ns",
			  (json_int_t)record->established, "ended_ns", (json_int_t)record->ended,
			  "end", record->end, "counters", counters_json(&record->counters)));
}

static json_t *records_json(const struct vl_endpoint_run *run)
{
	struct record_list list = {.array = json_array()};

	for (uint32_t i = 0; i < run->instance_count; i++) {
		list.port = i / run->session.worker_count;
		list.worker = i % run->session.worker_count;
		vl_session_set_records(vl_instance_sessions(run->instances[i]), add_record, &list);
	}
	return list.array;
}

static json_t *drops_json(const uint64_t drops[VL_DROP_COUNT])
{
	json_t *object = json_object();

#define SET(name, meaning)                                                                         \
	json_object_set_new(object, #name, json_integer((json_int_t)drops[VL_DROP_##name]));
	VL_DROPS(SET)
#undef SET
	return object;
}

static json_t *clocks_json(const struct vl_endpoint_run *run)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < run->session.port_count; i++) {
		const struct vl_port *port = vl_host_port(run->session.host, i);

		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:I}", "port", port->name, "clock",
						vl_port_arrival_clock(port), "error_ns",
						(json_int_t)vl_port_arrival_error(port)));
	}
	return array;
}

static json_t *texts_json(const struct vl_texts *texts)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < texts->count; i++)
		json_array_append_new(array, json_string(texts->values[i]));
	return array;
}

static json_t *configuration_json(const struct vl_endpoint_run *run)
{
	const struct vl_host_options *host = run->host_options;
	json_t *services = json_array(), *path_mtus = json_array();

	for (int i = 0; i < VL_INSTANCE_SERVICE_COUNT; i++) {
		if (run->instance.services & 1u << i)
			json_array_append_new(services, json_string(vl_instance_service_names[i]));
	}
	for (uint32_t port = 0; port < run->session.port_count; port++)
		json_array_append_new(
			path_mtus, json_integer(128 << vl_host_path_mtu(run->session.host, port)));
	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:o}", "port", texts_json(&host->ports), "ip",
			 texts_json(&host->addresses), "path_mtu", path_mtus, "workers",
			 (json_int_t)host->workers, "seed", (json_int_t)host->seed, "service",
			 services);
}

json_t *vl_endpoint_report_json(const struct vl_endpoint_run *run)
{
	struct vl_instance_status status;
	struct vl_counters counters;
	uint64_t drops[VL_DROP_COUNT];
	json_t *root;

	vl_endpoint_run_status(run, &status);
	sum_devices(run, &counters, drops);
	root = json_pack("{s:s, s:s, s:f, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "command",
			 run->command->name, "version", VERBLINE_VERSION, "seconds",
			 (double)run->elapsed / 1e9, "ports", (int)run->session.port_count,
			 "workers", (int)run->session.worker_count, "client",
			 client_json(run, &status), "sessions",
			 session_counters_json(&status.session), "services", services_json(&status),
			 "cm", cm_json(&status.cm), "counters", counters_json(&counters), "drops",
			 drops_json(drops), "session_records", records_json(run));
	if (!root)
		return NULL;
	json_object_set_new(root, "arrival_clocks", clocks_json(run));
	json_object_set_new(root, "host", vl_machine_json());
	json_object_set_new(root, "configuration", configuration_json(run));
	if (run->faults)
		json_object_set_new(root, "faults", vl_faults_json(run->faults));
	return root;
}
