/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * memif 2.0, as FD.io defines it: messages on a socket, by which a client gives a server the memory
 * and the rings in it, and the rings. All fields are in the machine's own order.
 */
#ifndef VERBLINE_PORT_MEMIF_PROTOCOL_H
#define VERBLINE_PORT_MEMIF_PROTOCOL_H

#include <assert.h>
#include <stdint.h>

#define MEMIF_VERSION        0x0200
#define MEMIF_COOKIE         0x3e31f20u
#define MEMIF_MESSAGE_LENGTH 128u
#define MEMIF_MAX_LOG2_RING  14
#define MEMIF_ETHERNET       0

enum memif_message_type {
	MEMIF_ACK = 1,
	MEMIF_HELLO,
	MEMIF_INIT,
	MEMIF_ADD_REGION,
	MEMIF_ADD_RING,
	MEMIF_CONNECT,
	MEMIF_CONNECTED,
	MEMIF_DISCONNECT,
};

#define MEMIF_ADD_RING_TO_SERVER 1 /* flag: the client sends on this ring */

struct memif_message {
	uint16_t type;
	union {
		struct {
			uint8_t name[32];
			uint16_t least_version, most_version;
			uint16_t last_region, last_to_client, last_to_server; /* indexes */
			uint8_t log2_ring;
		} __attribute__((packed)) hello;
		struct {
			uint16_t version;
			uint32_t id;
			uint8_t mode, secret[24], name[32];
		} __attribute__((packed)) init;
		struct {
			uint16_t index;
			uint64_t size;
		} __attribute__((packed)) region;
		struct {
			uint16_t flags, index, region;
			uint32_t offset;
			uint8_t log2_ring;
			uint16_t private_header;
		} __attribute__((packed)) ring;
		struct {
			uint8_t name[32];
		} __attribute__((packed)) connect;
		struct {
			uint32_t code;
			uint8_t reason[96];
		} __attribute__((packed)) disconnect;
		uint8_t room[MEMIF_MESSAGE_LENGTH - 2];
	} __attribute__((packed));
} __attribute__((packed));
static_assert(sizeof(struct memif_message) == MEMIF_MESSAGE_LENGTH, "a message is 128 bytes");

#define MEMIF_DESCRIPTOR_NEXT 1 /* flag: the frame goes on in the next descriptor */

struct memif_descriptor {
	uint16_t flags, region;
	uint32_t length, offset, metadata;
};

#define MEMIF_RING_NO_INTERRUPT 1 /* flag: the receiver polls */

/*
 * To the server, the client puts filled buffers at head and the server takes them at tail. To the
 * client, the client puts empty ones at head and the server fills them at tail. Indexes run freely.
 */
struct memif_ring {
	uint32_t cookie;
	uint16_t flags;
	uint16_t head __attribute__((aligned(2)));
	uint8_t gap[56];
	uint16_t tail;
	uint8_t gap2[62];
	struct memif_descriptor descriptors[];
};
static_assert(sizeof(struct memif_ring) == 128 && sizeof(struct memif_descriptor) == 16,
	      "rings are as the other program has them");

#endif
