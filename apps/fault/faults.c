/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The options' way to the engines of the endpoints, and what the engines have counted. */

#include "apps/control/message.h"
#include "apps/fault/event_list.h"
#include "apps/fault/fault.h"
#include "apps/scenario/scenario.h"
#include "apps/verdict/verdict.h"
#include "dataplane/fault/fault.h"
#include "transport/cm/rdma_ip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const vl_fault_drain_overflows[] = {"drop", "pfc", NULL};
const char *const vl_fault_cnp_scopes[] = {"qp", "ip", "port", NULL};

/* Sees the frames of an endpoint before whoever looked before. */
struct watcher {
	struct vl_verdict *verdict;
	struct vl_frame_tap next;
	const struct vl_endpoint *endpoint;
	const struct vl_port *port; /* NULL: none, in virtual time */
};

struct vl_faults {
	struct vl_fault_options options;
	struct vl_event_list *list; /* NULL: policies only */
	char *source;               /* what the list was read from */
	uint64_t seed;
	uint16_t control_port;
	struct vl_cc_parameters cc;
	struct vl_fault **engines;
	uint32_t engine_count, engine_capacity;
	struct watcher **watchers;
	uint32_t watcher_count, watcher_capacity;
	struct vl_verdict *verdict; /* of all together; NULL: none was asked for */
	bool is_judged;             /* verdict has what the watchers saw */
};

/* ---- Reading -------------------------------------------------------------------------------- */

static bool has_notification_options(const struct vl_fault_options *options)
{
	return options->cnp_interval != UINT64_MAX || options->cnp_scope != VL_CNP_SCOPE_QP ||
	       options->cnp_dscp != UINT64_MAX || options->cnp_priority != UINT64_MAX;
}

static bool has_filter_options(const struct vl_fault_options *options)
{
	return options->events || options->drain_rate || options->receive_rate ||
	       options->coalesce_acks > 1;
}

static const struct vl_ready_event_list *find_ready(const char *name)
{
	for (unsigned int i = 0; i < vl_ready_event_list_count; i++) {
		if (!strcmp(vl_ready_event_lists[i].name, name))
			return &vl_ready_event_lists[i];
	}
	return NULL;
}

static struct vl_event_list *read_events(const struct vl_command *command, const char *name)
{
	const struct vl_ready_event_list *ready = find_ready(name);
	struct vl_problems problems = {.file = name};
	struct vl_event_list *list;
	char error[512], *text;
	size_t length;

	if (ready) {
		list = vl_event_list_parse(ready->text, strlen(ready->text), &problems);
	} else {
		text = vl_scenario_read_file(name, &length, error, sizeof(error));
		if (!text) {
			vl_command_error(command,
					 "%s; --events takes a file or one of the ready lists "
					 "('verbline faults')",
					 error);
			return NULL;
		}
		list = vl_event_list_parse(text, length, &problems);
		free(text);
	}
	if (!list)
		vl_problems_print(&problems, stderr);
	return list;
}

/* Options that say how something is done, without the one that has it done. */
static bool check_needs(const struct vl_command *command, const struct vl_fault_options *options)
{
	static const struct vl_fault_options unset = VL_FAULT_OPTIONS_INIT;
	bool pauses = options->drain_rate && options->drain_overflow == VL_FAULT_DRAIN_PFC;
	bool judges = options->verdict.wanted;
#define NEED(is_met, needed, option, member)                                                       \
	{                                                                                          \
		"--" option, "--" needed, !(is_met) && options->member != unset.member             \
	}
	const struct {
		const char *option, *needed;
		bool is_wrong;
	} needs[] = {
		NEED(options->drain_rate, "drain-rate", "drain-buffer", drain_buffer),
		NEED(options->drain_rate, "drain-rate", "drain-overflow", drain_overflow),
		NEED(pauses, "drain-overflow pfc", "drain-priority", drain_priority),
		NEED(options->receive_rate, "receive-rate", "receive-burst", receive_burst),
		NEED(options->receive_rate, "receive-rate", "rnr-timer", rnr_timer),
		NEED(options->coalesce_acks > 1, "coalesce-acks", "coalesce-delay", coalesce_delay),
		NEED(judges, "verdict", "expect-cnp-dscp", verdict.cnp_dscp),
		NEED(judges, "verdict", "expect-cnp-priority", verdict.cnp_priority),
		NEED(judges, "verdict", "expect-data-dscp", verdict.data_dscp),
		NEED(judges, "verdict", "expect-ecn", verdict.expects_ecn),
		NEED(judges, "verdict", "expect-cnp-interval", verdict.cnp_interval),
		NEED(judges, "verdict", "expect-cnp-within", verdict.cnp_limit),
		NEED(judges, "verdict", "expect-pause-within", verdict.pause_limit),
		NEED(judges, "verdict", "patience", verdict.patience),
	};
#undef NEED

	for (unsigned int i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!needs[i].is_wrong)
			continue;
		vl_command_error(command, "%s does nothing without %s", needs[i].option,
				 needs[i].needed);
		return false;
	}
	return true;
}

static bool open_verdict(struct vl_faults *faults)
{
	const struct vl_verdict_config config = vl_verdict_options_config(&faults->options.verdict);

	if (faults->options.verdict.wanted)
		faults->verdict = vl_verdict_create(&config);
	return faults->verdict || !faults->options.verdict.wanted;
}

int vl_faults_create(const struct vl_command *command, const struct vl_fault_options *options,
		     uint64_t seed, struct vl_faults **faults)
{
	struct vl_faults *made;

	*faults = NULL;
	if (!check_needs(command, options))
		return VL_EXIT_USAGE;
	if (!has_notification_options(options) && !has_filter_options(options) &&
	    !options->verdict.wanted)
		return -1;
	if (options->cnp_interval != UINT64_MAX && options->cnp_interval % 1000) {
		vl_command_error(command,
				 "--cnp-interval: whole microseconds only, as 4us or 50us");
		return VL_EXIT_USAGE;
	}
	made = calloc(1, sizeof(*made));
	if (made)
		made->options = *options;
	if (!made || !open_verdict(made)) {
		vl_command_error(command, "out of memory");
		vl_faults_destroy(made);
		return VL_EXIT_FAILED;
	}
	made->seed = seed;
	made->control_port = VL_CONTROL_PORT;
	if (options->events) {
		made->source = strdup(options->events);
		made->list = read_events(command, options->events);
		if (!made->list) {
			vl_faults_destroy(made);
			return VL_EXIT_USAGE;
		}
		if (made->list->seed != UINT64_MAX)
			made->seed = made->list->seed;
	}
	*faults = made;
	return -1;
}

void vl_faults_set_control_port(struct vl_faults *faults, uint16_t port)
{
	if (faults)
		faults->control_port = port;
}

/* ---- Setting up ----------------------------------------------------------------------------- */

void vl_faults_configure_cc(const struct vl_faults *faults, struct vl_cc_parameters *parameters)
{
	const struct vl_fault_options *options;

	if (!faults)
		return;
	options = &faults->options;
	if (options->cnp_interval != UINT64_MAX)
		parameters->dcqcn.min_time_between_cnps = (uint32_t)(options->cnp_interval / 1000);
	if (options->cnp_dscp != UINT64_MAX)
		parameters->dcqcn.cnp_dscp = (uint32_t)options->cnp_dscp;
	if (options->cnp_priority != UINT64_MAX)
		parameters->dcqcn.cnp_802p_prio = (uint32_t)options->cnp_priority;
}

void vl_faults_configure(struct vl_faults *faults, struct vl_device_config *device)
{
	if (!faults || !has_notification_options(&faults->options))
		return;
	device->cnp_scope = (enum vl_cnp_scope)faults->options.cnp_scope;
	if (device->cc) {
		faults->cc = *device->cc;
	} else {
		faults->cc = (struct vl_cc_parameters){.algorithm = &vl_cc_none};
		vl_dcqcn_profile(&faults->cc.dcqcn, "paper");
	}
	vl_faults_configure_cc(faults, &faults->cc);
	device->cc = &faults->cc;
}

static struct vl_fault_config engine_config(const struct vl_faults *faults,
					    const struct vl_endpoint *endpoint, uint64_t rate)
{
	const struct vl_fault_options *options = &faults->options;
	struct vl_fault_config config = {
		.seed = faults->seed + faults->engine_count,
		.slow_receiver = {.rate = options->drain_rate,
				  .buffer = (uint32_t)options->drain_buffer,
				  .priorities = (uint8_t)(1u << options->drain_priority)},
		.receives = {.rate = options->receive_rate,
			     .burst = (uint32_t)options->receive_burst,
			     .rnr_timer = vl_rnr_timer_code(options->rnr_timer)},
		.ack_coalescing = {.count = (uint32_t)options->coalesce_acks,
				   .delay = options->coalesce_delay},
		.cnp_dscp_is_set = options->cnp_dscp != UINT64_MAX,
		.cnp_dscp = (uint8_t)options->cnp_dscp,
		.cnp_priority_is_set = options->cnp_priority != UINT64_MAX,
		.cnp_priority = (uint8_t)options->cnp_priority,
		.rate = rate,
		.device = endpoint->device,
		.spared_service = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, faults->control_port),
		.paused = &endpoint->pause.paused,
		.tap = &endpoint->tap,
	};

	memcpy(config.mac, endpoint->mac, sizeof(config.mac));
	if (options->drain_overflow == VL_FAULT_DRAIN_PFC) {
		config.slow_receiver.xoff = config.slow_receiver.buffer / 2;
		config.slow_receiver.xon = config.slow_receiver.buffer / 4;
	}
	if (faults->list) {
		config.events = faults->list->events;
		config.event_count = faults->list->event_count;
	}
	return config;
}

/* Room for one more pointer. */
static int grow(void *array, uint32_t count, uint32_t *capacity)
{
	void **pointers = array;
	uint32_t wanted = *capacity ? 2 * *capacity : 16;
	void *grown;

	if (count < *capacity)
		return 0;
	grown = realloc(*pointers, wanted * sizeof(void *));
	if (!grown)
		return -ENOMEM;
	*pointers = grown;
	*capacity = wanted;
	return 0;
}

static int attach_engine(struct vl_faults *faults, struct vl_endpoint *endpoint, uint64_t rate)
{
	struct vl_fault_config config;
	struct vl_frame_filter filter;
	struct vl_fault *engine;
	int error = 0;

	if (!has_filter_options(&faults->options))
		return 0;
	if (grow(&faults->engines, faults->engine_count, &faults->engine_capacity))
		return -ENOMEM;
	config = engine_config(faults, endpoint, rate);
	engine = vl_fault_create(&config, &error);
	if (!engine)
		return error;
	faults->engines[faults->engine_count++] = engine;
	filter = vl_fault_filter(engine);
	vl_endpoint_set_filter(endpoint, &filter);
	return 0;
}

static void watch(void *context, enum vl_direction direction, const struct vl_frame *frame,
		  uint64_t now, const char *comment)
{
	struct watcher *watcher = context;

	vl_verdict_see(watcher->verdict, direction, frame, now, comment);
	if (watcher->next.see)
		watcher->next.see(watcher->next.context, direction, frame, now, comment);
}

static int attach_watcher(struct vl_faults *faults, struct vl_endpoint *endpoint, uint64_t rate,
			  const struct vl_port *port)
{
	struct vl_verdict_config config = vl_verdict_options_config(&faults->options.verdict);
	struct vl_frame_tap tap = {.see = watch};
	struct watcher *watcher;

	if (!faults->options.verdict.wanted)
		return 0;
	if (grow(&faults->watchers, faults->watcher_count, &faults->watcher_capacity))
		return -ENOMEM;
	watcher = calloc(1, sizeof(*watcher));
	if (!watcher)
		return -ENOMEM;
	config.rate = rate;
	config.spared_service = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, faults->control_port);
	watcher->verdict = vl_verdict_create(&config);
	if (!watcher->verdict) {
		free(watcher);
		return -ENOMEM;
	}
	watcher->next = endpoint->tap;
	watcher->endpoint = endpoint;
	watcher->port = port;
	faults->watchers[faults->watcher_count++] = watcher;
	tap.context = watcher;
	vl_endpoint_set_tap(endpoint, &tap);
	return 0;
}

int vl_faults_attach(struct vl_faults *faults, struct vl_endpoint *endpoint, uint64_t rate,
		     const struct vl_port *port)
{
	int error = faults ? attach_engine(faults, endpoint, rate) : 0;

	return error || !faults ? error : attach_watcher(faults, endpoint, rate, port);
}

void vl_faults_destroy(struct vl_faults *faults)
{
	if (!faults)
		return;
	for (uint32_t i = 0; i < faults->engine_count; i++)
		vl_fault_destroy(faults->engines[i]);
	free(faults->engines);
	for (uint32_t i = 0; i < faults->watcher_count; i++) {
		vl_verdict_destroy(faults->watchers[i]->verdict);
		free(faults->watchers[i]);
	}
	free(faults->watchers);
	vl_verdict_destroy(faults->verdict);
	vl_event_list_free(faults->list);
	free(faults->source);
	free(faults);
}

/* ---- What was done -------------------------------------------------------------------------- */

static struct vl_fault_event_counters sum_event(const struct vl_faults *faults, uint32_t event)
{
	struct vl_fault_event_counters sum = {0};

	for (uint32_t i = 0; i < faults->engine_count; i++) {
		const struct vl_fault_event_counters *counters =
			vl_fault_event_counters(faults->engines[i], event);

		sum.matched += counters->matched;
		sum.acted += counters->acted;
		sum.not_applicable += counters->not_applicable;
		sum.no_room += counters->no_room;
	}
	return sum;
}

static struct vl_fault_counters sum_counters(const struct vl_faults *faults)
{
	struct vl_fault_counters sum = {0};

	for (uint32_t i = 0; i < faults->engine_count; i++) {
		const struct vl_fault_counters *counters = vl_fault_counters(faults->engines[i]);

#define ADD(name, unit, meaning) sum.name += counters->name;
		VL_FAULT_COUNTERS(ADD)
#undef ADD
	}
	return sum;
}

static void print_events(const struct vl_faults *faults, FILE *out)
{
	if (!faults->list)
		return;
	fprintf(out, "  %-24s %-14s %12s %12s %12s %12s\n", "event", "action", "fitting packets",
		"acted on", "could not", "no room");
	for (uint32_t i = 0; i < faults->list->event_count; i++) {
		const struct vl_fault_event *event = &faults->list->events[i];
		struct vl_fault_event_counters sum = sum_event(faults, i);

		fprintf(out,
			"  %-24s %-14s %15" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n",
			event->name, vl_fault_action_name(event->action.kind), sum.matched,
			sum.acted, sum.not_applicable, sum.no_room);
	}
}

/* The verdict of all endpoints together; NULL: none was asked for, or nobody watched. */
static const struct vl_verdict *judge(struct vl_faults *faults)
{
	if (!faults || !faults->watcher_count)
		return NULL;
	for (uint32_t i = 0; !faults->is_judged && i < faults->watcher_count; i++) {
		struct watcher *watcher = faults->watchers[i];

		vl_verdict_finish(watcher->verdict, watcher->endpoint->now);
		if (watcher->port)
			vl_verdict_set_clock(watcher->verdict, vl_port_arrival_clock(watcher->port),
					     vl_port_arrival_error(watcher->port));
		vl_verdict_merge(faults->verdict, watcher->verdict);
	}
	faults->is_judged = true;
	return faults->verdict;
}

bool vl_faults_has_failed(struct vl_faults *faults)
{
	const struct vl_verdict *verdict = judge(faults);

	return verdict && (vl_verdict_has_failed(verdict) || !vl_verdict_has_judged(verdict));
}

static void print_engines(const struct vl_faults *faults, FILE *out)
{
	struct vl_fault_counters sum = sum_counters(faults);

	fprintf(out, "\nFaults on purpose%s%s\n", faults->source ? ": " : "",
		faults->source ? faults->source : "");
	print_events(faults, out);
#define PRINT(name, unit, meaning)                                                                 \
	if (sum.name)                                                                              \
		fprintf(out, "  %-24s %12" PRIu64 " %s %s\n", #name, sum.name, unit, meaning);
	VL_FAULT_COUNTERS(PRINT)
#undef PRINT
}

void vl_faults_print(struct vl_faults *faults, FILE *out)
{
	const struct vl_verdict *verdict = judge(faults);

	if (faults && faults->engine_count)
		print_engines(faults, out);
	if (!verdict)
		return;
	vl_verdict_print(verdict, out);
	/* It sees what the verdict sees. */
	if (faults->watchers[0]->next.see)
		fputs("  Packets are numbered by endpoint, which is one interface of the "
		      "capture.\n",
		      out);
}

static json_t *events_json(const struct vl_faults *faults)
{
	json_t *array = json_array();

	for (uint32_t i = 0; faults->list && i < faults->list->event_count; i++) {
		const struct vl_fault_event *event = &faults->list->events[i];
		struct vl_fault_event_counters sum = sum_event(faults, i);

		json_array_append_new(
			array, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "name", event->name,
					 "place", event->place, "action",
					 vl_fault_action_name(event->action.kind), "matched",
					 (json_int_t)sum.matched, "acted", (json_int_t)sum.acted,
					 "not_applicable", (json_int_t)sum.not_applicable,
					 "no_room", (json_int_t)sum.no_room));
	}
	return array;
}

json_t *vl_faults_json(struct vl_faults *faults)
{
	const struct vl_verdict *verdict = judge(faults);
	struct vl_fault_counters sum;
	json_t *counters, *object;

	if (!faults || (!faults->engine_count && !verdict))
		return json_null();
	sum = sum_counters(faults);
	counters = json_object();
#define SET(name, unit, meaning)                                                                   \
	json_object_set_new(counters, #name, json_integer((json_int_t)sum.name));
	VL_FAULT_COUNTERS(SET)
#undef SET
	object = json_pack("{s:o, s:o, s:I}", "events", events_json(faults), "counters", counters,
			   "seed", (json_int_t)faults->seed);
	if (object && faults->source)
		json_object_set_new(object, "source", json_string(faults->source));
	if (object && verdict)
		json_object_set_new(object, "peer", vl_verdict_json(verdict));
	return object;
}
