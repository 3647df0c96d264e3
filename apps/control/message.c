/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/control/message.h"

#include "apps/report/printable.h"
#include "dataplane/histogram.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAX_24 0xffffffu

static const char *const type_names[] = {
#define TYPE_NAME(enumerator, name) name,
	VL_CONTROL_TYPES(TYPE_NAME)
#undef TYPE_NAME
};
#define TYPE_COUNT (sizeof(type_names) / sizeof(type_names[0]))

static const struct {
	const char *name;
	enum ibv_qp_type type;
} transports[] = {{"RC", IBV_QPT_RC}, {"UC", IBV_QPT_UC}, {"UD", IBV_QPT_UD}};
#define TRANSPORT_COUNT (sizeof(transports) / sizeof(transports[0]))

const char *vl_control_type_name(enum vl_control_type type)
{
	return (size_t)type < TYPE_COUNT ? type_names[type] : "?";
}

/* ---- Writing ------------------------------------------------------------------------------- */

static int put(json_t *object, const char *name, uint64_t value)
{
	return json_object_set_new(object, name, json_integer((json_int_t)value));
}

static int put_qps(json_t *object, const struct vl_control_qp *qps, uint32_t count)
{
	json_t *list = json_array();
	int status = list ? 0 : -1;

	for (uint32_t i = 0; !status && i < count; i++)
		status = json_array_append_new(
			list, json_pack("[i,i]", (int)qps[i].qpn, (int)qps[i].psn));
	if (!status)
		return json_object_set_new(object, "qps", list);
	json_decref(list);
	return status;
}

static int put_cc(json_t *object, const struct vl_cc_parameters *cc)
{
	json_t *choice = json_pack("{s:s}", "algorithm", cc->algorithm->name);
	int status = choice ? 0 : -1;

	if (status)
		return status;
	status |= put(choice, "fixed_rate", cc->fixed_rate);
	status |= put(choice, "initial_rate", cc->initial_rate);
#define PUT_PARAMETER(name, paper, nvidia, least, most, unit, meaning)                             \
	status |= put(choice, #name, cc->dcqcn.name);
	VL_DCQCN_PARAMETERS(PUT_PARAMETER)
#undef PUT_PARAMETER
	return status | json_object_set_new(object, "cc", choice);
}

static int put_open(json_t *object, const struct vl_control_open *open)
{
	int status = 0;

	for (size_t i = 0; i < TRANSPORT_COUNT; i++) {
		if (transports[i].type == open->transport)
			status |= json_object_set_new(object, "transport",
						      json_string(transports[i].name));
	}
	status |= put(object, "path_mtu", 128u << open->path_mtu);
	status |= put(object, "receive_depth", open->receive_depth);
	status |= put(object, "receive_size", open->receive_size);
	status |= put(object, "traffic_class", open->traffic_class);
	status |= put(object, "priority", open->priority);
	status |= put(object, "timeout", open->timeout);
	status |= put(object, "retry_count", open->retry_count);
	status |= put(object, "rnr_retry", open->rnr_retry);
	status |= json_object_set_new(object, "stamped", json_boolean(open->is_stamped));
	status |= put(object, "group", open->group);
	status |= json_object_set_new(object, "clock_offset", json_integer(open->clock_offset));
	if (open->cc.algorithm)
		status |= put_cc(object, &open->cc);
	return status | put_qps(object, open->qps, open->count);
}

static int put_opened(json_t *object, const struct vl_control_opened *opened)
{
	int status = put(object, "address", opened->address);

	status |= put(object, "length", opened->length);
	status |= put(object, "rkey", opened->rkey);
	status |= put(object, "qkey", opened->qkey);
	return status | put_qps(object, opened->qps, opened->count);
}

static int put_counters(json_t *object, const struct vl_control_counters *counters)
{
	int status = put(object, "time", counters->time);

	status |= put(object, "qps", counters->qps);
#define PUT_COUNTER(name, unit, meaning) status |= put(object, #name, counters->counters.name);
	VL_COUNTERS(PUT_COUNTER)
#undef PUT_COUNTER
	return status;
}

static int put_timed(json_t *object, const struct vl_control_timed *timed)
{
	json_t *slots = json_array();
	int status = slots ? 0 : -1;

	for (uint32_t i = 0; !status && i < timed->slot_count; i++)
		status = json_array_append_new(slots, json_pack("[i,I]", (int)timed->slots[i].slot,
								(json_int_t)timed->slots[i].count));
	status |= put(object, "count", timed->count);
	status |= put(object, "least", timed->least);
	status |= put(object, "most", timed->most);
	status |= put(object, "early", timed->early);
	status |= json_object_set_new(object, "sum", json_real(timed->sum));
	status |= json_object_set_new(object, "square_sum", json_real(timed->square_sum));
	status |= put(object, "next", timed->next);
	status |= put(object, "arrival_error", timed->arrival_error);
	status |= json_object_set_new(object, "arrival_clock", json_string(timed->arrival_clock));
	return status | json_object_set_new(object, "slots", slots);
}

static int put_hello(json_t *object, const struct vl_control_hello *hello)
{
	int status = json_object_set_new(object, "version", json_string(hello->version));

	status |= json_object_set_new(object, "clock", json_string(hello->clock));
	status |= put(object, "protocol", hello->protocol);
	status |= put(object, "largest_message", hello->largest_message);
	return status | put(object, "qps", hello->qps);
}

static int put_body(json_t *object, const struct vl_control_message *message)
{
	switch (message->type) {
	case VL_CONTROL_HELLO:
		return put_hello(object, &message->hello);
	case VL_CONTROL_PONG:
		if (put(object, "arrived", message->ping.arrived))
			return -1;
		/* fall through */
	case VL_CONTROL_PING:
		return put(object, "sent", message->ping.sent);
	case VL_CONTROL_OPEN:
		return put_open(object, &message->open);
	case VL_CONTROL_OPENED:
		return put_opened(object, &message->opened);
	case VL_CONTROL_COUNTERS:
		return put_counters(object, &message->counters);
	case VL_CONTROL_TIMES:
		if (put(object, "group", message->times.group))
			return -1;
		return put(object, "first", message->times.first);
	case VL_CONTROL_TIMED:
		return put_timed(object, &message->timed);
	case VL_CONTROL_ERROR:
		return json_object_set_new(object, "reason", json_string(message->error));
	default:
		return 0;
	}
}

void vl_control_refuse(struct vl_control_message *message, const char *format, ...)
{
	va_list arguments;

	message->type = VL_CONTROL_ERROR;
	va_start(arguments, format);
	vsnprintf(message->error, sizeof(message->error), format, arguments);
	va_end(arguments);
}

int vl_control_encode(const struct vl_control_message *message, char *text, size_t size)
{
	json_t *object = json_pack("{s:s}", "type", vl_control_type_name(message->type));
	size_t length;

	if (!object || put_body(object, message)) {
		json_decref(object);
		return -ENOMEM;
	}
	length = json_dumpb(object, text, size, JSON_COMPACT);
	json_decref(object);
	if (!length)
		return -ENOMEM;
	return length > size ? -EMSGSIZE : (int)length;
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct reader {
	const json_t *object;
	char *error;
	size_t error_size;
	int status;
};

__attribute__((format(printf, 2, 3))) static void refuse(struct reader *reader, const char *format,
							 ...)
{
	va_list arguments;

	if (reader->status)
		return;
	reader->status = -EINVAL;
	va_start(arguments, format);
	vsnprintf(reader->error, reader->error_size, format, arguments);
	va_end(arguments);
}

static uint64_t get(struct reader *reader, const char *name, uint64_t least, uint64_t most)
{
	const json_t *value = json_object_get(reader->object, name);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || (uint64_t)number < least ||
	    (uint64_t)number > most) {
		refuse(reader, "'%s' must be a whole number from %llu to %llu", name,
		       (unsigned long long)least, (unsigned long long)most);
		return least;
	}
	return (uint64_t)number;
}

static void get_text(struct reader *reader, const char *name, char *text, size_t size)
{
	const char *value = json_string_value(json_object_get(reader->object, name));

	if (!value || strlen(value) >= size) {
		refuse(reader, "'%s' must be a text of less than %zu bytes", name, size);
		return;
	}
	strcpy(text, value);
	vl_make_printable(text);
}

static bool get_24(const json_t *value, uint32_t *number)
{
	json_int_t got = json_integer_value(value);

	*number = (uint32_t)got;
	return json_is_integer(value) && got >= 0 && got <= MAX_24;
}

static uint32_t get_qps(struct reader *reader, struct vl_control_qp *qps)
{
	const json_t *list = json_object_get(reader->object, "qps"), *entry;
	size_t count = json_array_size(list);

	if (!json_is_array(list) || !count || count > VL_CONTROL_MAX_QPS) {
		refuse(reader, "'qps' must be a list of 1 to %u pairs [QPN, PSN]",
		       VL_CONTROL_MAX_QPS);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		entry = json_array_get(list, i);
		if (json_array_size(entry) != 2 || !get_24(json_array_get(entry, 0), &qps[i].qpn) ||
		    !get_24(json_array_get(entry, 1), &qps[i].psn) || qps[i].qpn < 2 ||
		    qps[i].qpn == MAX_24)
			refuse(reader, "'qps[%zu]' must be a pair [QPN, PSN] of 24 bits each", i);
	}
	return (uint32_t)count;
}

static enum ibv_mtu get_mtu(struct reader *reader)
{
	uint64_t bytes = get(reader, "path_mtu", 256, 4096);

	for (unsigned int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++) {
		if (bytes == 128u << mtu)
			return (enum ibv_mtu)mtu;
	}
	refuse(reader, "'path_mtu' must be 256, 512, 1024, 2048 or 4096");
	return IBV_MTU_256;
}

static void get_cc(struct reader *reader, struct vl_cc_parameters *cc)
{
	const json_t *object = json_object_get(reader->object, "cc");
	struct reader inner = *reader;
	char name[16] = "";

	if (!object)
		return;
	inner.object = object;
	get_text(&inner, "algorithm", name, sizeof(name));
	cc->fixed_rate = get(&inner, "fixed_rate", 0, INT64_MAX);
	cc->initial_rate = get(&inner, "initial_rate", 0, INT64_MAX);
#define GET_PARAMETER(name, paper, nvidia, least, most, unit, meaning)                             \
	cc->dcqcn.name = (uint32_t)get(&inner, #name, 0, most);
	VL_DCQCN_PARAMETERS(GET_PARAMETER)
#undef GET_PARAMETER
	reader->status = inner.status;
	cc->algorithm = vl_cc_find(name);
	if (!cc->algorithm || vl_cc_check(cc))
		refuse(reader, "'cc' must be an algorithm that is known here, with parameters "
			       "within their ranges");
}

static int64_t get_signed(struct reader *reader, const char *name)
{
	const json_t *value = json_object_get(reader->object, name);

	if (!json_is_integer(value))
		refuse(reader, "'%s' must be a whole number", name);
	return json_integer_value(value);
}

static double get_real(struct reader *reader, const char *name)
{
	const json_t *value = json_object_get(reader->object, name);

	if (!json_is_real(value) || json_real_value(value) < 0)
		refuse(reader, "'%s' must be a number, 0.0 or more", name);
	return json_real_value(value);
}

static void get_timed(struct reader *reader, struct vl_control_timed *timed)
{
	const json_t *slots = json_object_get(reader->object, "slots");
	size_t count = json_array_size(slots);

	timed->count = get(reader, "count", 0, INT64_MAX);
	timed->least = get(reader, "least", 0, INT64_MAX);
	timed->most = get(reader, "most", 0, INT64_MAX);
	timed->early = get(reader, "early", 0, INT64_MAX);
	timed->sum = get_real(reader, "sum");
	timed->square_sum = get_real(reader, "square_sum");
	timed->next = (uint32_t)get(reader, "next", 0, VL_HISTOGRAM_SLOTS - 1);
	timed->arrival_error = get(reader, "arrival_error", 0, INT64_MAX);
	get_text(reader, "arrival_clock", timed->arrival_clock, sizeof(timed->arrival_clock));
	if (!json_is_array(slots) || count > VL_CONTROL_MAX_SLOTS) {
		refuse(reader, "'slots' must be a list of up to %u pairs", VL_CONTROL_MAX_SLOTS);
		return;
	}
	timed->slot_count = (uint32_t)count;
	for (uint32_t i = 0; i < count; i++) {
		json_int_t slot = -1, times = -1;

		if (json_unpack(json_array_get(slots, i), "[I,I!]", &slot, &times) || slot < 0 ||
		    slot >= (json_int_t)VL_HISTOGRAM_SLOTS || times < 0)
			refuse(reader, "'slots[%u]' must be a slot and how often it was hit", i);
		timed->slots[i].slot = (uint32_t)slot;
		timed->slots[i].count = (uint64_t)times;
	}
}

static void get_open(struct reader *reader, struct vl_control_open *open)
{
	char name[8] = "";

	open->transport = IBV_QPT_DRIVER;
	get_text(reader, "transport", name, sizeof(name));
	for (size_t i = 0; i < TRANSPORT_COUNT; i++) {
		if (!strcmp(transports[i].name, name))
			open->transport = transports[i].type;
	}
	if (open->transport == IBV_QPT_DRIVER)
		refuse(reader, "'transport' must be RC, UC or UD");
	open->path_mtu = get_mtu(reader);
	open->receive_depth = (uint32_t)get(reader, "receive_depth", 0, 32768);
	open->receive_size = (uint32_t)get(reader, "receive_size", 0, UINT32_C(1) << 31);
	open->traffic_class = (uint8_t)get(reader, "traffic_class", 0, 255);
	open->priority = (uint8_t)get(reader, "priority", 0, 7);
	open->timeout = (uint8_t)get(reader, "timeout", 0, 31);
	open->retry_count = (uint8_t)get(reader, "retry_count", 0, 7);
	open->rnr_retry = (uint8_t)get(reader, "rnr_retry", 0, 7);
	open->is_stamped = json_is_true(json_object_get(reader->object, "stamped"));
	open->group = (uint32_t)get(reader, "group", 0, VL_CONTROL_MAX_GROUPS - 1);
	open->clock_offset = get_signed(reader, "clock_offset");
	get_cc(reader, &open->cc);
	open->count = get_qps(reader, open->qps);
}

static void get_opened(struct reader *reader, struct vl_control_opened *opened)
{
	opened->address = get(reader, "address", 0, INT64_MAX);
	opened->length = get(reader, "length", 0, INT64_MAX);
	opened->rkey = (uint32_t)get(reader, "rkey", 0, UINT32_MAX);
	opened->qkey = (uint32_t)get(reader, "qkey", 0, UINT32_MAX);
	opened->count = get_qps(reader, opened->qps);
}

static void get_counters(struct reader *reader, struct vl_control_counters *counters)
{
	counters->time = get(reader, "time", 0, INT64_MAX);
	counters->qps = (uint32_t)get(reader, "qps", 0, UINT32_MAX);
#define GET_COUNTER(name, unit, meaning) counters->counters.name = get(reader, #name, 0, INT64_MAX);
	VL_COUNTERS(GET_COUNTER)
#undef GET_COUNTER
}

static void get_body(struct reader *reader, struct vl_control_message *message)
{
	switch (message->type) {
	case VL_CONTROL_HELLO:
		get_text(reader, "version", message->hello.version, sizeof(message->hello.version));
		get_text(reader, "clock", message->hello.clock, sizeof(message->hello.clock));
		message->hello.protocol = (uint32_t)get(reader, "protocol", 0, UINT32_MAX);
		message->hello.largest_message = get(reader, "largest_message", 0, INT64_MAX);
		message->hello.qps = (uint32_t)get(reader, "qps", 0, UINT32_MAX);
		break;
	case VL_CONTROL_PONG:
		message->ping.arrived = get(reader, "arrived", 0, INT64_MAX);
		/* fall through */
	case VL_CONTROL_PING:
		message->ping.sent = get(reader, "sent", 0, INT64_MAX);
		break;
	case VL_CONTROL_OPEN:
		get_open(reader, &message->open);
		break;
	case VL_CONTROL_OPENED:
		get_opened(reader, &message->opened);
		break;
	case VL_CONTROL_COUNTERS:
		get_counters(reader, &message->counters);
		break;
	case VL_CONTROL_TIMES:
		message->times.group = (uint32_t)get(reader, "group", 0, VL_CONTROL_MAX_GROUPS - 1);
		message->times.first = (uint32_t)get(reader, "first", 0, VL_HISTOGRAM_SLOTS - 1);
		break;
	case VL_CONTROL_TIMED:
		get_timed(reader, &message->timed);
		break;
	case VL_CONTROL_ERROR:
		get_text(reader, "reason", message->error, sizeof(message->error));
		break;
	default:
		break;
	}
}

static void get_type(struct reader *reader, enum vl_control_type *type)
{
	char name[16] = "";

	get_text(reader, "type", name, sizeof(name));
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		if (!strcmp(type_names[i], name)) {
			*type = (enum vl_control_type)i;
			return;
		}
	}
	refuse(reader, "no message is of type '%s'", name);
}

int vl_control_decode(const char *text, size_t length, struct vl_control_message *message,
		      char *error, size_t error_size)
{
	struct reader reader = {.error = error, .error_size = error_size};
	json_error_t problem;
	json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);

	memset(message, 0, sizeof(*message));
	reader.object = object;
	if (!object)
		refuse(&reader, "not JSON: %.100s", problem.text);
	else if (!json_is_object(object))
		refuse(&reader, "a message must be a JSON object");
	else
		get_type(&reader, &message->type);
	if (!reader.status)
		get_body(&reader, message);
	json_decref(object);
	return reader.status;
}
