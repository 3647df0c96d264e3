/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/memif_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* For all that is said until the link stands. */
#define PATIENCE_MS 2000
#define ALIGNMENT   64u
#define PROGRAM     "verbline"

/* ---- Messages ---------------------------------------------------------------------------- */

static bool send_message(int socket, const struct memif_message *message, int descriptor)
{
	union {
		struct cmsghdr header; /* aligns the room */
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.room = {0}};
	struct iovec data = {.iov_base = (void *)message, .iov_len = sizeof(*message)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};

	if (descriptor >= 0) {
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS,
						  .cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
	}
	/* Who does not read what he is sent has lost the link. */
	return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*message);
}

static void close_if_open(int descriptor)
{
	if (descriptor >= 0)
		close(descriptor);
}

/* Keeps the first one that came, and closes what nobody asked for. */
static void take_descriptors(const struct cmsghdr *part, int *descriptor)
{
	size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int got;

	for (size_t i = 0; i < count; i++) {
		memcpy(&got, CMSG_DATA(part) + i * sizeof(int), sizeof(got));
		if (*descriptor < 0)
			*descriptor = got;
		else
			close(got);
	}
}

/* *descriptor: what came with it, or -1. */
static bool receive_message(int socket, struct memif_message *message, int *descriptor,
			    int timeout_ms)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec data = {.iov_base = message, .iov_len = sizeof(*message)};
	struct msghdr header = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd event = {.fd = socket, .events = POLLIN};
	ssize_t length;

	*descriptor = -1;
	if (poll(&event, 1, timeout_ms) != 1)
		return false;
	length = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (length < 0)
		return false;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&header); part;
	     part = CMSG_NXTHDR(&header, part)) {
		if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
			take_descriptors(part, descriptor);
	}
	if (length == (ssize_t)sizeof(*message))
		return true;
	close_if_open(*descriptor);
	*descriptor = -1;
	return false;
}

static void send_disconnect(int socket, const char *reason)
{
	struct memif_message message = {.type = MEMIF_DISCONNECT};

	snprintf((char *)message.disconnect.reason, sizeof(message.disconnect.reason), "%s",
		 reason);
	send_message(socket, &message, -1);
}

static bool send_hello(int socket, const struct memif_link_config *config)
{
	struct memif_message message = {.type = MEMIF_HELLO};

	memcpy(message.hello.name, PROGRAM, sizeof(PROGRAM));
	message.hello.least_version = message.hello.most_version = MEMIF_VERSION;
	message.hello.last_region = MEMIF_MAX_REGIONS - 1;
	message.hello.last_to_client = message.hello.last_to_server = config->queue_count - 1;
	message.hello.log2_ring = MEMIF_MAX_LOG2_RING;
	return send_message(socket, &message, -1);
}

/* ---- Common ------------------------------------------------------------------------------ */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static struct memif_link *make_link(int socket, bool is_client)
{
	struct memif_link *link = calloc(1, sizeof(*link));

	if (!link) {
		close(socket);
		return NULL;
	}
	link->socket = socket;
	link->is_client = is_client;
	link->deadline_ms = now_ms() + PATIENCE_MS;
	for (unsigned int i = 0; i < VL_PORT_MAX_QUEUES; i++)
		link->rx[i].interrupt = link->tx[i].interrupt = -1;
	return link;
}

/* While the link is being made. */
static bool hear(const struct memif_link *link, struct memif_message *message, int *descriptor)
{
	int64_t left = link->deadline_ms - now_ms();

	*descriptor = -1;
	return left > 0 && receive_message(link->socket, message, descriptor, (int)left);
}

void memif_link_free(struct memif_link *link)
{
	if (!link)
		return;
	close(link->socket);
	for (unsigned int i = 0; i < VL_PORT_MAX_QUEUES; i++) {
		close_if_open(link->rx[i].interrupt);
		close_if_open(link->tx[i].interrupt);
	}
	for (unsigned int i = 0; i < link->region_count; i++)
		munmap(link->regions[i].memory, link->regions[i].size);
	free(link);
}

bool memif_link_listen(const struct memif_link *link)
{
	struct memif_message message;
	int descriptor;

	if (!receive_message(link->socket, &message, &descriptor, 0))
		return false;
	close_if_open(descriptor);
	return message.type != MEMIF_DISCONNECT;
}

void memif_link_refuse(int socket, const struct memif_link_config *config)
{
	if (send_hello(socket, config))
		send_disconnect(socket, "already connected");
	close(socket);
}

static size_t ring_length(unsigned int log2_ring)
{
	return sizeof(struct memif_ring) + (sizeof(struct memif_descriptor) << log2_ring);
}

/* ---- Client ------------------------------------------------------------------------------ */

/* Rings first, then buffers: those that the client sends, then those that it receives in. */
static bool make_memory(struct memif_link *link, const struct memif_link_config *config,
			unsigned int log2_ring, int *file)
{
	size_t ring_stride = (ring_length(log2_ring) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	unsigned int rings = link->tx_count + (unsigned int)link->rx_count;
	size_t size = rings * (ring_stride + ((size_t)config->buffer_size << log2_ring));
	size_t buffers = rings * ring_stride;
	uint8_t *memory;

	if (buffers + size > UINT32_MAX)
		return false;
	*file = memfd_create(PROGRAM, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*file < 0 || ftruncate(*file, (off_t)size) || fcntl(*file, F_ADD_SEALS, F_SEAL_SHRINK))
		return false;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
	if (memory == MAP_FAILED)
		return false;
	link->regions[0] = (struct memif_region){.memory = memory, .size = size};
	link->region_count = 1;
	for (unsigned int i = 0; i < rings; i++) {
		bool is_tx = i < link->tx_count;
		struct memif_channel *channel =
			is_tx ? &link->tx[i] : &link->rx[i - link->tx_count];

		channel->ring = (struct memif_ring *)(void *)(memory + i * ring_stride);
		channel->size = (uint16_t)(1u << log2_ring);
		channel->ring->cookie = MEMIF_COOKIE;
		channel->ring->flags = is_tx ? 0 : MEMIF_RING_NO_INTERRUPT;
		/* All that it is to receive in is empty, and given. */
		channel->ring->head = is_tx ? 0 : channel->size;
		for (uint32_t slot = 0; slot < channel->size; slot++)
			channel->ring->descriptors[slot] = (struct memif_descriptor){
				.length = config->buffer_size,
				.offset = (uint32_t)(buffers + ((size_t)i * channel->size + slot) *
								       config->buffer_size),
			};
		channel->interrupt = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (channel->interrupt < 0)
			return false;
	}
	return true;
}

/* Sends, and waits for the answer of this type. */
static bool ask(const struct memif_link *link, const struct memif_message *message, int descriptor,
		uint16_t answer)
{
	struct memif_message got;
	int unwanted;

	if (!send_message(link->socket, message, descriptor) || !hear(link, &got, &unwanted))
		return false;
	close_if_open(unwanted);
	return got.type == answer;
}

static bool offer_ring(const struct memif_link *link, const struct memif_channel *channel,
		       uint16_t index, bool is_tx, unsigned int log2_ring)
{
	struct memif_message message = {.type = MEMIF_ADD_RING};

	message.ring.flags = is_tx ? MEMIF_ADD_RING_TO_SERVER : 0;
	message.ring.index = index;
	message.ring.offset = (uint32_t)((const uint8_t *)channel->ring - link->regions[0].memory);
	message.ring.log2_ring = (uint8_t)log2_ring;
	return ask(link, &message, channel->interrupt, MEMIF_ACK);
}

static bool offer(const struct memif_link *link, const struct memif_link_config *config, int file,
		  unsigned int log2_ring)
{
	struct memif_message message = {.type = MEMIF_INIT};

	message.init.version = MEMIF_VERSION;
	message.init.id = config->id;
	message.init.mode = MEMIF_ETHERNET;
	memcpy(message.init.name, PROGRAM, sizeof(PROGRAM));
	if (!ask(link, &message, -1, MEMIF_ACK))
		return false;
	message = (struct memif_message){.type = MEMIF_ADD_REGION};
	message.region.size = link->regions[0].size;
	if (!ask(link, &message, file, MEMIF_ACK))
		return false;
	for (uint16_t i = 0; i < link->tx_count; i++) {
		if (!offer_ring(link, &link->tx[i], i, true, log2_ring))
			return false;
	}
	for (uint16_t i = 0; i < link->rx_count; i++) {
		if (!offer_ring(link, &link->rx[i], i, false, log2_ring))
			return false;
	}
	message = (struct memif_message){.type = MEMIF_CONNECT};
	memcpy(message.connect.name, PROGRAM, sizeof(PROGRAM));
	return ask(link, &message, -1, MEMIF_CONNECTED);
}

static uint16_t fewer(uint16_t count, uint16_t last_index)
{
	return count <= last_index ? count : (uint16_t)(last_index + 1);
}

struct memif_link *memif_link_connect(int socket, const struct memif_link_config *config)
{
	struct memif_link *link = make_link(socket, true);
	struct memif_message hello;
	unsigned int log2_ring;
	int file = -1, unwanted;
	bool is_made;

	if (!link)
		return NULL;
	if (!hear(link, &hello, &unwanted)) {
		memif_link_free(link);
		return NULL;
	}
	close_if_open(unwanted);
	link->buffer_size = config->buffer_size;
	link->tx_count = fewer(config->queue_count, hello.hello.last_to_server);
	link->rx_count = fewer(config->queue_count, hello.hello.last_to_client);
	log2_ring = hello.hello.log2_ring < config->log2_ring ? hello.hello.log2_ring
							      : config->log2_ring;
	is_made = hello.type == MEMIF_HELLO && hello.hello.least_version <= MEMIF_VERSION &&
		  hello.hello.most_version >= MEMIF_VERSION &&
		  make_memory(link, config, log2_ring, &file) &&
		  offer(link, config, file, log2_ring);
	close_if_open(file);
	if (is_made)
		return link;
	memif_link_free(link);
	return NULL;
}

/* ---- Server ------------------------------------------------------------------------------ */

/* What is taken of a client's messages: NULL, or why the message is refused. */
static const char *take_init(struct memif_link *link, const struct memif_message *message,
			     const struct memif_link_config *config)
{
	if (link->is_begun)
		return "begins twice";
	link->is_begun = true;
	if (message->init.version != MEMIF_VERSION)
		return "wants another version of memif";
	if (message->init.mode != MEMIF_ETHERNET)
		return "only Ethernet";
	return message->init.id == config->id ? NULL : "no such interface ID";
}

/* Memory that the client could take away again would end this program with SIGBUS. */
static const char *take_region(struct memif_link *link, const struct memif_message *message,
			       int file)
{
	int seals = file >= 0 ? fcntl(file, F_GET_SEALS) : -1;
	uint64_t size = message->region.size;
	struct stat status;
	void *memory;

	if (file < 0 || message->region.index != link->region_count ||
	    link->region_count == MEMIF_MAX_REGIONS)
		return "a region out of order, too many, or without memory";
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return "memory that is not sealed against shrinking";
	if (fstat(file, &status) || !size || size > (uint64_t)status.st_size)
		return "less memory than is said";
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (memory == MAP_FAILED)
		return "memory that cannot be mapped";
	link->regions[link->region_count++] = (struct memif_region){.memory = memory, .size = size};
	return NULL;
}

/* A worker writes to it: it must not wait, and a pipe or socket whose other end is closed would end
 * this program with SIGPIPE. Eventfds are files of no type. */
static bool is_interrupt(int file)
{
	struct stat status;
	int flags = fcntl(file, F_GETFL);

	return flags >= 0 && !fstat(file, &status) && !(status.st_mode & S_IFMT) &&
	       !fcntl(file, F_SETFL, flags | O_NONBLOCK);
}

static const char *take_ring(struct memif_link *link, const struct memif_message *message,
			     const struct memif_link_config *config, int *interrupt)
{
	bool is_rx = message->ring.flags & MEMIF_ADD_RING_TO_SERVER;
	uint16_t *count = is_rx ? &link->rx_count : &link->tx_count;
	struct memif_channel *channel;
	const struct memif_region *region;

	if (message->ring.index != *count || *count == config->queue_count)
		return "a ring out of order, or too many";
	if (*interrupt >= 0 && !is_interrupt(*interrupt))
		return "an interrupt that is no eventfd";
	if (message->ring.region >= link->region_count ||
	    message->ring.log2_ring > MEMIF_MAX_LOG2_RING || message->ring.offset % 16)
		return "a ring in no region, too large, or not aligned";
	region = &link->regions[message->ring.region];
	if (message->ring.offset + ring_length(message->ring.log2_ring) > region->size)
		return "a ring beyond its region";
	channel = is_rx ? &link->rx[*count] : &link->tx[*count];
	channel->ring = (struct memif_ring *)(void *)(region->memory + message->ring.offset);
	if (channel->ring->cookie != MEMIF_COOKIE)
		return "a ring without its cookie";
	channel->size = (uint16_t)(1u << message->ring.log2_ring);
	channel->interrupt = *interrupt;
	*interrupt = -1;
	if (is_rx)
		channel->ring->flags |= MEMIF_RING_NO_INTERRUPT;
	++*count;
	return NULL;
}

/* True: the client wants to be connected now. */
static bool serve(struct memif_link *link, const struct memif_link_config *config,
		  const char **refusal)
{
	const struct memif_message ack = {.type = MEMIF_ACK};
	struct memif_message message;
	int descriptor;

	*refusal = "silent";
	while (hear(link, &message, &descriptor)) {
		switch (message.type) {
		case MEMIF_INIT:
			*refusal = take_init(link, &message, config);
			break;
		case MEMIF_ADD_REGION:
			*refusal = take_region(link, &message, descriptor);
			break;
		case MEMIF_ADD_RING:
			*refusal = take_ring(link, &message, config, &descriptor);
			break;
		case MEMIF_CONNECT:
			close_if_open(descriptor);
			*refusal = link->rx_count && link->tx_count ? NULL : "no rings";
			return !*refusal;
		default:
			*refusal = "unexpected message";
		}
		close_if_open(descriptor);
		if (*refusal || !send_message(link->socket, &ack, -1))
			return false;
	}
	return false;
}

struct memif_link *memif_link_accept(int socket, const struct memif_link_config *config)
{
	struct memif_message connected = {.type = MEMIF_CONNECTED};
	struct memif_link *link = make_link(socket, false);
	const char *refusal = NULL;

	if (!link)
		return NULL;
	memcpy(connected.connect.name, PROGRAM, sizeof(PROGRAM));
	if (send_hello(socket, config) && serve(link, config, &refusal)) {
		if (send_message(socket, &connected, -1))
			return link;
	} else if (refusal) {
		send_disconnect(socket, refusal);
	}
	memif_link_free(link);
	return NULL;
}
