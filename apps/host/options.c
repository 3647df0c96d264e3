/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/host/options.h"

#include "apps/host/addresses.h"
#include "apps/host/plan.h"
#include "apps/report/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_LENGTH 80

const char *const vl_host_path_mtu_choices[] = {"auto", "256", "512", "1024", "2048", "4096", NULL};

static int fail(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int fail(char *error, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, size, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* Parts "VALUE@N" into the value and the number of its port. */
static int part(const char *name, const char *text, unsigned int port_count,
		char value[VALUE_LENGTH], unsigned int *port, char *error, size_t size)
{
	const char *at = strrchr(text, '@');
	size_t length = at ? (size_t)(at - text) : strlen(text);
	unsigned long number = 0;
	char *end;

	if (length >= VALUE_LENGTH)
		return fail(error, size, "--%s: '%.40s...' is too long", name, text);
	memcpy(value, text, length);
	value[length] = '\0';
	if (at) {
		errno = 0;
		number = strtoul(at + 1, &end, 10);
		if (at[1] < '0' || at[1] > '9' || *end || errno || number >= port_count)
			return fail(error, size,
				    "--%s %s: there is no port %.20s; they are numbered from 0 to "
				    "%u in the order of --port",
				    name, text, at + 1, port_count - 1);
	}
	*port = (unsigned int)number;
	return 0;
}

static int take_addresses(const struct vl_host_options *options, struct vl_host_config *config,
			  char *error, size_t size)
{
	char value[VALUE_LENGTH], reason[256];
	unsigned int number = 0;

	for (unsigned int i = 0; i < options->addresses.count; i++) {
		struct vl_ip_config *ip;

		if (part("ip", options->addresses.values[i], config->port_count, value, &number,
			 error, size))
			return -EINVAL;
		ip = &config->ports[number].ip;
		if (ip->address_count == VL_IP_MAX_ADDRESSES)
			return fail(error, size, "--ip: a port has at most %d addresses",
				    VL_IP_MAX_ADDRESSES);
		if (vl_host_address_parse(value, &ip->addresses[ip->address_count], reason,
					  sizeof(reason)))
			return fail(error, size, "--ip: %s", reason);
		for (uint32_t j = 0; j < ip->address_count; j++) {
			if (!memcmp(&ip->addresses[j].address,
				    &ip->addresses[ip->address_count].address,
				    sizeof(union ibv_gid)))
				return fail(error, size, "--ip: %s is given twice", value);
		}
		ip->address_count++;
	}
	return 0;
}

static int take_gateways(const struct vl_host_options *options, struct vl_host_config *config,
			 char *error, size_t size)
{
	static const union ibv_gid none;
	char value[VALUE_LENGTH], reason[256];
	unsigned int number = 0;

	for (unsigned int i = 0; i < options->gateways.count; i++) {
		union ibv_gid address, *gateway;
		struct vl_ip_config *ip;

		if (part("gateway", options->gateways.values[i], config->port_count, value, &number,
			 error, size))
			return -EINVAL;
		if (vl_address_parse(value, &address, reason, sizeof(reason)))
			return fail(error, size, "--gateway: %s", reason);
		ip = &config->ports[number].ip;
		gateway = strchr(value, ':') ? &ip->gateway_ipv6 : &ip->gateway_ipv4;
		if (memcmp(gateway, &none, sizeof(none)))
			return fail(error, size,
				    "--gateway: port %u has one for %s already; there is one for "
				    "each of IPv4 and IPv6",
				    number, strchr(value, ':') ? "IPv6" : "IPv4");
		*gateway = address;
		if (!vl_ip_is_neighbour(ip, &address))
			return fail(error, size,
				    "--gateway: %s lies in none of the subnets that --ip gives "
				    "port %u",
				    value, number);
	}
	return 0;
}

static int take_macs(const struct vl_host_options *options, struct vl_host_config *config,
		     char *error, size_t size)
{
	char value[VALUE_LENGTH], reason[256];
	unsigned int number = 0;

	for (unsigned int i = 0; i < options->macs.count; i++) {
		if (part("mac", options->macs.values[i], config->port_count, value, &number, error,
			 size))
			return -EINVAL;
		if (vl_mac_parse(value, config->ports[number].ip.mac, reason, sizeof(reason)))
			return fail(error, size, "--mac: %s", reason);
	}
	return 0;
}

static int take_ports(const struct vl_host_options *options, struct vl_host_config *config,
		      char *error, size_t size)
{
	struct vl_error reason;

	if (!options->ports.count)
		return fail(error, size,
			    "--port is missing: say which port to use, as --port "
			    "af_packet:eth0");
	if (options->ports.count > VL_HOST_MAX_PORTS)
		return fail(error, size, "--port: %u ports, at most %d can be used at once",
			    options->ports.count, VL_HOST_MAX_PORTS);
	config->port_count = options->ports.count;
	for (unsigned int i = 0; i < config->port_count; i++) {
		struct vl_host_port_config *port = &config->ports[i];

		if (vl_port_check_name(options->ports.values[i], &reason))
			return fail(error, size, "--port: %s", reason.text);
		port->name = options->ports.values[i];
		port->mtu = (uint32_t)options->mtu;
		port->pfc_response_delay = options->pfc_response_delay;
		port->path_mtu = (enum ibv_mtu)options->path_mtu;
		port->ip.vlan_present = options->vlan != VL_HOST_UNSET;
		port->ip.vlan_id = port->ip.vlan_present ? (uint16_t)options->vlan : 0;
		port->ip.vlan_priority = (uint8_t)options->pcp;
	}
	return 0;
}

int vl_host_plan(const struct vl_host_options *options, bool needs_addresses,
		 struct vl_host_config *config, char *error, size_t size)
{
	*config = (struct vl_host_config){.worker_count = (uint32_t)options->workers};
	if (take_ports(options, config, error, size) ||
	    take_addresses(options, config, error, size) ||
	    take_gateways(options, config, error, size) || take_macs(options, config, error, size))
		return -EINVAL;
	for (unsigned int i = 0; i < config->port_count && needs_addresses; i++) {
		if (!config->ports[i].ip.address_count)
			return fail(error, size,
				    "--ip is missing for port %u (%s): give it an address, as --ip "
				    "10.0.0.1/24%s",
				    i, config->ports[i].name,
				    config->port_count > 1 ? "@N, N being the port's number" : "");
	}
	if (options->pcap && !strcmp(options->pcap, "-"))
		return fail(error, size,
			    "--pcap -: a capture goes to a file or to a named pipe (mkfifo), not "
			    "to the standard output");
	if (vl_output_is_same(options->json, options->pcap))
		return fail(error, size,
			    "--json and --pcap: %s cannot take two outputs; give each a file of "
			    "its own",
			    options->pcap);
	if (options->pcp && options->vlan == VL_HOST_UNSET)
		return fail(error, size,
			    "--pcp: only frames with a tag have a priority; give --vlan too (0 is "
			    "a priority without a VLAN)");
	config->device.seed = options->seed;
	return 0;
}

int vl_host_check_input(const struct vl_host_options *options, const char *input, char *error,
			size_t size)
{
	const char *outputs[] = {options->json, options->pcap};

	for (unsigned int i = 0; i < 2; i++) {
		if (!access(input ? input : "", F_OK) && vl_output_is_same(outputs[i], input))
			return fail(error, size,
				    "--%s %s: an input would be overwritten; name another file",
				    i ? "pcap" : "json", outputs[i]);
	}
	return 0;
}

int vl_host_check_peer(const struct vl_host_config *config, const union ibv_gid *peer, char *error,
		       size_t size)
{
	char text[VL_ADDRESS_TEXT];
	const char *fault = vl_address_fault(peer, 0);

	vl_address_text(peer, text);
	for (unsigned int i = 0; i < config->port_count; i++) {
		const struct vl_ip_config *ip = &config->ports[i].ip;

		for (uint32_t j = 0; j < ip->address_count && !fault; j++) {
			struct vl_ip_config subnet = {.address_count = 1,
						      .addresses = {ip->addresses[j]}};

			if (!memcmp(&ip->addresses[j].address, peer, sizeof(*peer))) {
				if (config->port_count == 1)
					fault = "this is the own address, of --ip";
			} else if (vl_ip_is_neighbour(&subnet, peer)) {
				fault = vl_address_fault(peer, ip->addresses[j].prefix_length);
			}
		}
	}
	if (!fault)
		return 0;
	return fail(error, size, "the peer's address %s: %s; give the peer's", text, fault);
}

uint8_t vl_host_traffic_class(const struct vl_host_options *options, uint8_t dscp, uint8_t ecn)
{
	if (options->dscp != VL_HOST_UNSET)
		dscp = (uint8_t)options->dscp;
	return (uint8_t)(dscp << 2 | (ecn & 3));
}

uint8_t vl_host_priority(const struct vl_host_options *options, uint8_t dscp)
{
	return options->vlan == VL_HOST_UNSET ? dscp >> 3 : (uint8_t)options->pcp;
}
