/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/host/addresses.h"

#include "transport/wire/gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int vl_address_parse(const char *text, union ibv_gid *address, char *error, size_t size)
{
	uint8_t ipv4[4];

	if (inet_pton(AF_INET6, text, address->raw) == 1)
		return 0;
	if (inet_pton(AF_INET, text, ipv4) == 1) {
		*address = vl_gid_of_ipv4(ipv4);
		return 0;
	}
	snprintf(error, size, "'%.64s' is no address; write one as 10.0.0.1 or fd00::1", text);
	return -EINVAL;
}

/* Bits behind the prefix: all of them zero, or all of them one. */
static bool has_host_bits(const union ibv_gid *address, uint32_t prefix_length, bool ones)
{
	uint32_t bits, mask;

	memcpy(&bits, address->raw + 12, sizeof(bits));
	bits = ntohl(bits);
	mask = UINT32_MAX >> prefix_length;
	return (bits & mask) == (ones ? mask : 0);
}

const char *vl_address_fault(const union ibv_gid *address, uint32_t prefix_length)
{
	static const uint8_t zero[16], loopback[16] = {[15] = 1};
	const uint8_t *raw = address->raw;

	if (!vl_gid_is_ipv4(address)) {
		if (!memcmp(raw, zero, 16) || !memcmp(raw, loopback, 16) || raw[0] == 0xff)
			return "no host can have this address";
		return NULL;
	}
	if (!raw[12] || raw[12] == 127 || raw[12] >= 224)
		return "no host can have this address";
	if (!prefix_length || prefix_length >= 31)
		return NULL;
	if (has_host_bits(address, prefix_length, false))
		return "this is the subnet's own address";
	if (has_host_bits(address, prefix_length, true))
		return "this is the subnet's broadcast address";
	return NULL;
}

int vl_host_address_parse(const char *text, struct vl_ip_address *address, char *error, size_t size)
{
	const char *slash = strchr(text, '/'), *fault;
	char host[64], *end;
	unsigned long length, most;

	if (!slash) {
		snprintf(error, size, "'%.64s' lacks the length of the subnet's prefix; write %s",
			 text, strchr(text, ':') ? "fd00::1/64" : "10.0.0.1/24");
		return -EINVAL;
	}
	snprintf(host, sizeof(host), "%.*s", (int)(slash - text), text);
	if (vl_address_parse(host, &address->address, error, size))
		return -EINVAL;
	most = vl_gid_is_ipv4(&address->address) ? 32 : 128;
	errno = 0;
	length = strtoul(slash + 1, &end, 10);
	if (slash[1] < '0' || slash[1] > '9' || *end || errno || length > most || !length) {
		snprintf(error, size, "'%.64s': the length of the prefix must be 1 to %lu", text,
			 most);
		return -EINVAL;
	}
	address->prefix_length = (uint8_t)length;
	fault = vl_address_fault(&address->address, address->prefix_length);
	if (!fault)
		return 0;
	snprintf(error, size, "'%.64s': %s; give the host's", text, fault);
	return -EINVAL;
}

int vl_mac_parse(const char *text, uint8_t mac[6], char *error, size_t size)
{
	static const uint8_t zero[6];
	unsigned int bytes[6];
	int end = 0;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &bytes[0], &bytes[1], &bytes[2], &bytes[3],
		   &bytes[4], &bytes[5], &end) != 6 ||
	    text[strspn(text, "0123456789abcdefABCDEF:")] || text[end]) {
		snprintf(error, size, "'%.64s' is no MAC address; write one as 02:00:00:00:00:01",
			 text);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < 6; i++)
		mac[i] = (uint8_t)bytes[i];
	if (!(mac[0] & 1) && memcmp(mac, zero, sizeof(zero)))
		return 0;
	snprintf(error, size, "'%.64s': no host can have this address, a multicast one or zero",
		 text);
	return -EINVAL;
}

const char *vl_address_text(const union ibv_gid *address, char text[VL_ADDRESS_TEXT])
{
	if (vl_gid_is_ipv4(address))
		inet_ntop(AF_INET, address->raw + 12, text, VL_ADDRESS_TEXT);
	else
		inet_ntop(AF_INET6, address->raw, text, VL_ADDRESS_TEXT);
	return text;
}

const char *vl_unreachable_text(int status, const union ibv_gid *peer,
				char text[VL_UNREACHABLE_TEXT])
{
	char address[VL_ADDRESS_TEXT];

	vl_address_text(peer, address);
	if (status == -ENETUNREACH)
		snprintf(text, VL_UNREACHABLE_TEXT,
			 "the peer %s is in no subnet of ours: --ip ADDRESS/PREFIX says which "
			 "these are, --gateway who leads to others",
			 address);
	else
		snprintf(text, VL_UNREACHABLE_TEXT,
			 "the peer %s does not answer: %s; is it up, and its address right?",
			 address, strerror(-status));
	return text;
}
