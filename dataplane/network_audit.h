/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What must hold of a network in virtual time at any moment between two events, whatever it was
 * told to do: frames come from somewhere and are somewhere, memory holds what is in it, and nobody
 * sends without credits. A violation is a bug of the emulation, and makes its results worthless.
 */
#ifndef VERBLINE_DATAPLANE_NETWORK_AUDIT_H
#define VERBLINE_DATAPLANE_NETWORK_AUDIT_H

#include <stdbool.h>
#include <stddef.h>

struct vl_network;

/* True: all holds. False: text says what does not, where, with the numbers. */
bool vl_network_audit(struct vl_network *network, char *text, size_t size);

#endif
