/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Answers to DPDK's telemetry socket. The socket's threads belong to DPDK; what is asked lies with
 * workers. So each question is handed to the control thread, which answers it when it calls
 * vl_telemetry_serve (by vl_worker_call, where only a worker may look), while the asking thread
 * waits. Nothing is shared with the data path, and an idle socket costs nothing.
 */
#ifndef VERBLINE_RUNTIME_TELEMETRY_H
#define VERBLINE_RUNTIME_TELEMETRY_H

#include <stdint.h>

/* An answer under construction. */
struct vl_telemetry_reply;

struct vl_telemetry_topic {
	const char *command; /* "/verbline/...": letters, digits, '_' and '/', up to 55 */
	const char *help;    /* one line; says what parameters there are */
	/* Fills the reply. parameters: what follows the comma, never NULL. 0, or a negative errno
	 * value: the asker gets null. */
	int (*answer)(void *context, const char *parameters, struct vl_telemetry_reply *reply);
};

#define VL_TELEMETRY_MAX_TOPICS 32

/* Control thread, with EAL running. From now on these are answered. topics and context stay the
 * caller's, until the end. 0, or -EBUSY: there are others, or what DPDK says. */
int vl_telemetry_open(const struct vl_telemetry_topic *topics, unsigned int count, void *context);
/* Every question from now on gets null, and at once. Fine when not open. */
void vl_telemetry_close(void);
/* Control thread: answers what was asked, waiting for questions until so many ns are over: 0 does
 * not wait. May return early. Sleeps as well where telemetry is not open. */
void vl_telemetry_serve(uint64_t wait);

/* Of a reply: first one of begin, then what it takes. Lists hold 512 entries, objects 256; what is
 * more is left out. Names: letters, digits, '_' and '/', up to 127 characters; text up to 127. */
void vl_telemetry_begin_object(struct vl_telemetry_reply *reply);
void vl_telemetry_begin_numbers(struct vl_telemetry_reply *reply);
void vl_telemetry_begin_texts(struct vl_telemetry_reply *reply);
void vl_telemetry_put_number(struct vl_telemetry_reply *reply, const char *name, uint64_t value);
void vl_telemetry_put_text(struct vl_telemetry_reply *reply, const char *name, const char *value);
void vl_telemetry_add_number(struct vl_telemetry_reply *reply, uint64_t value);
void vl_telemetry_add_text(struct vl_telemetry_reply *reply, const char *value);

/* Up to count numbers, decimal or 0x, parted by commas. Returns how many there are, or -EINVAL. */
int vl_telemetry_numbers(const char *parameters, uint64_t *numbers, int count);

#endif
