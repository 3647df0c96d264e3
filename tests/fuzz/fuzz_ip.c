/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Any frames, at any times, between any questions: an endpoint's IP answers or does not, sends only
 * frames of its own MAC and VLAN that fit, forgets what it has no room for, and comes to rest. The
 * input is a list of steps: a byte that says which, and what it needs.
 */

#include "dataplane/ip/ip.h"
#include "dataplane/steer.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t take(struct input *input)
{
	if (!input->left)
		return 0;
	input->left--;
	return *input->at++;
}

static union ibv_gid take_address(struct input *input)
{
	union ibv_gid gid = {.raw = {[10] = 0xff, 0xff, 10, 0, 0, 0}};

	if (take(input) & 1) {
		gid.raw[15] = take(input);
	} else {
		for (unsigned int i = 0; i < 16; i++)
			gid.raw[i] = take(input);
	}
	return gid;
}

static struct vl_ip *open_ip(uint8_t choice)
{
	struct vl_ip_config config = {
		.mac = {2, 0, 0, 0, 0, 1},
		.address_count = 3,
		.addresses =
			{
				{{.raw = {[10] = 0xff, 0xff, 10, 0, 0, 1}}, 24},
				{{.raw = {0xfd, [15] = 1}}, 64},
				{{.raw = {0xfe, 0x80, [15] = 1}}, 64},
			},
		.gateway_ipv4 = {.raw = {[10] = 0xff, 0xff, 10, 0, 0, 254}},
		.vlan_present = choice & 1,
		.vlan_id = choice & 1 ? 5 : 0,
		.speaks = !(choice & 2),
		.max_neighbours = choice & 4 ? 1 : 8,
	};

	return vl_ip_open(&config, NULL);
}

static void receive(struct vl_ip *ip, struct input *input, uint64_t now)
{
	size_t length = take(input);
	uint8_t *copy;

	if (length == 255)
		length = 255 + take(input) * 40u;
	if (length > input->left)
		length = input->left;
	copy = malloc(length + !length);
	require(copy != NULL);
	memcpy(copy, input->at, length);
	input->at += length;
	input->left -= length;
	vl_ip_receive(ip,
		      &(struct vl_frame){.data = copy,
					 .length = (uint32_t)length,
					 .capacity = (uint32_t)length},
		      now);
	require(vl_steer(copy, (uint32_t)length, 3, 2) < 3 ||
		vl_steer(copy, (uint32_t)length, 3, 2) == VL_STEER_ALL);
	free(copy);
}

static unsigned int transmit(struct vl_ip *ip, bool tagged, uint32_t capacity, uint64_t now)
{
	uint8_t *bytes = malloc(capacity);
	struct vl_frame frame = {.data = bytes, .capacity = capacity};
	unsigned int count = 0;

	require(bytes != NULL);
	while (vl_ip_transmit(ip, &frame, now)) {
		require(frame.length >= 60 && frame.length <= capacity && bytes[11] == 1);
		require((bytes[12] == 0x81) == tagged);
		count++;
		require(count < 100);
	}
	free(bytes);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	uint8_t choice = take(&input), mac[6];
	struct vl_ip *ip = open_ip(choice);
	union ibv_gid address;
	uint64_t now = 0;

	require(ip != NULL);
	while (input.left) {
		switch (take(&input) % 5) {
		case 0:
			receive(ip, &input, now);
			break;
		case 1:
			transmit(ip, choice & 1, 128u + take(&input) * 64u, now);
			break;
		case 2:
			address = take_address(&input);
			vl_ip_resolve(ip, &address, mac, now);
			break;
		case 3:
			address = take_address(&input);
			memset(mac, take(&input), sizeof(mac));
			vl_ip_learn(ip, &address, mac, now);
			break;
		default:
			now += take(&input) * 10 * MS;
			break;
		}
	}
	/* Nothing more is asked: it comes to rest. */
	for (unsigned int i = 0; i < 200 && vl_ip_next_deadline(ip) != UINT64_MAX; i++) {
		uint64_t next = vl_ip_next_deadline(ip);

		now = next > now ? next : now;
		transmit(ip, choice & 1, 16384, now);
	}
	require(vl_ip_next_deadline(ip) == UINT64_MAX);
	vl_ip_close(ip);
	return 0;
}
