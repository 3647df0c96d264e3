/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What two verblines tell each other over a control connection: JSON objects, a SEND each. The
 * client asks, the server answers each request with one message, an error if it must.
 *
 *	hello   version and limits of either side; the first message
 *	ping    answered with the server's time, for an estimate of how the clocks differ
 *	open    queue pairs of the client, for which the server makes and describes partners
 *	count   answered with what the server's queue pairs have counted
 *	times   answered with a part of the one-way latencies of a group that was opened stamped
 *	close   the server's queue pairs go
 */
#ifndef VERBLINE_CONTROL_MESSAGE_H
#define VERBLINE_CONTROL_MESSAGE_H

#include "apps/control/clock.h"
#include "transport/cc/cc.h"
#include "transport/counters.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TCP port space. */
#define VL_CONTROL_PORT     18600u
#define VL_CONTROL_PROTOCOL 2u
/* Bytes of a message as text. */
#define VL_CONTROL_MAX_MESSAGE 16384u
/* Queue pairs in one message. */
#define VL_CONTROL_MAX_QPS 256u
/* Groups of a session, and slots of a histogram in one message. */
#define VL_CONTROL_MAX_GROUPS 64u
#define VL_CONTROL_MAX_SLOTS  256u
/* Of the name of a clock that stamps arrivals. */
#define VL_CONTROL_ARRIVAL_TEXT 16u

#define VL_CONTROL_TYPES(X)                                                                        \
	X(HELLO, "hello")                                                                          \
	X(PING, "ping")                                                                            \
	X(PONG, "pong")                                                                            \
	X(OPEN, "open")                                                                            \
	X(OPENED, "opened")                                                                        \
	X(COUNT, "count")                                                                          \
	X(COUNTERS, "counters")                                                                    \
	X(TIMES, "times")                                                                          \
	X(TIMED, "timed")                                                                          \
	X(CLOSE, "close")                                                                          \
	X(CLOSED, "closed")                                                                        \
	X(ERROR, "error")

enum vl_control_type {
#define VL_CONTROL_TYPE_VALUE(enumerator, name) VL_CONTROL_##enumerator,
	VL_CONTROL_TYPES(VL_CONTROL_TYPE_VALUE)
#undef VL_CONTROL_TYPE_VALUE
};

struct vl_control_hello {
	char version[32]; /* of verbline */
	uint32_t protocol;
	/* Client: the largest it will use; server: the largest it takes. Bytes, queue pairs. */
	uint64_t largest_message;
	uint32_t qps;
	char clock[VL_CONTROL_CLOCK_TEXT]; /* as vl_control_clock_name */
};

/* Times are ns of the clock of who filled them in. */
struct vl_control_ping {
	uint64_t sent;    /* client's */
	uint64_t arrived; /* server's; of a pong */
};

struct vl_control_qp {
	uint32_t qpn, psn;
};

struct vl_control_open {
	enum ibv_qp_type transport;
	enum ibv_mtu path_mtu;
	uint32_t receive_depth; /* receives that each partner keeps posted */
	uint32_t receive_size;  /* bytes */
	uint8_t traffic_class;
	uint8_t priority;
	uint8_t timeout, retry_count, rnr_retry;
	/* Immediate data are time stamps; the server's clock is clock_offset ns ahead. group: the
	 * client's number for what is measured together. */
	bool is_stamped;
	uint32_t group;
	int64_t clock_offset;
	/* How the partners react to CNPs; algorithm NULL: as the server's device does. */
	struct vl_cc_parameters cc;
	uint32_t count;
	struct vl_control_qp qps[VL_CONTROL_MAX_QPS];
};

/* In the order of the request. */
struct vl_control_opened {
	uint64_t address, length;
	uint32_t rkey, qkey;
	uint32_t count;
	struct vl_control_qp qps[VL_CONTROL_MAX_QPS];
};

struct vl_control_counters {
	uint64_t time; /* ns, the server's */
	uint32_t qps;
	struct vl_counters counters; /* of all, added */
};

struct vl_control_times {
	uint32_t group, first; /* slot */
};

/* Of a struct vl_one_way, the slots from first on that have counted something, and by what clock:
 * as vl_port_arrival_clock and vl_port_arrival_error of the server's port. */
struct vl_control_timed {
	char arrival_clock[VL_CONTROL_ARRIVAL_TEXT];
	uint64_t arrival_error;
	uint64_t count, least, most, early;
	double sum, square_sum;
	uint32_t next; /* slot to go on from; 0: these are the last */
	uint32_t slot_count;
	struct {
		uint32_t slot;
		uint64_t count;
	} slots[VL_CONTROL_MAX_SLOTS];
};

struct vl_control_message {
	enum vl_control_type type;
	union {
		struct vl_control_hello hello;
		struct vl_control_ping ping; /* PING, PONG */
		struct vl_control_open open;
		struct vl_control_opened opened;
		struct vl_control_counters counters;
		struct vl_control_times times;
		struct vl_control_timed timed;
		char error[256]; /* for people */
	};
};

/* Makes it an error, in words for people. */
void vl_control_refuse(struct vl_control_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *vl_control_type_name(enum vl_control_type type);
/* The length of the text, without an ending NUL, or -EMSGSIZE or -ENOMEM. */
int vl_control_encode(const struct vl_control_message *message, char *text, size_t size);
/* Takes any bytes. 0, or -EINVAL with what is wrong and what would be right in error. */
int vl_control_decode(const char *text, size_t length, struct vl_control_message *message,
		      char *error, size_t error_size);

#endif
