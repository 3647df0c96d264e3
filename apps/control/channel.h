/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A queue pair that carries control messages, one at a time in each direction. Its connection is
 * its owner's. */
#ifndef VERBLINE_CONTROL_CHANNEL_H
#define VERBLINE_CONTROL_CHANNEL_H

#include "apps/control/message.h"
#include "transport/cm/connection.h"

#include <stdbool.h>

struct vl_control_channel;

/* Creates its queue pair, in INIT. NULL with a negative errno value in *error. */
struct vl_control_channel *vl_control_channel_open(struct vl_device *device, uint64_t now,
						   int *error);
/* NULL is fine. */
void vl_control_channel_close(struct vl_control_channel *channel);
struct vl_qp *vl_control_channel_qp(const struct vl_control_channel *channel);
/* To RTR and RTS as the connection says. -EAGAIN: call again later. */
int vl_control_channel_connect(struct vl_control_channel *channel,
			       const struct vl_cm_connection *connection, uint64_t now);
/* To ERR. */
void vl_control_channel_stop(struct vl_control_channel *channel, uint64_t now);

/* 0, -EBUSY (two messages are under way), -EMSGSIZE, -ENOMEM, or what the verbs returned. */
int vl_control_channel_send(struct vl_control_channel *channel,
			    const struct vl_control_message *message, uint64_t now);
/* 1: *message is the next; 0: none; -EIO: the connection is broken; -EINVAL: it was nonsense, and
 * error says how. */
int vl_control_channel_receive(struct vl_control_channel *channel,
			       struct vl_control_message *message, char *error, size_t error_size,
			       uint64_t now);

/* What a control connection asks of CM. */
extern const struct vl_cm_conn_param vl_control_conn_param;

#endif
