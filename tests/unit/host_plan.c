/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* From options as they are typed to a host's configuration, and what is said of wrong ones. */

#include "apps/host/addresses.h"
#include "apps/host/plan.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <string.h>

struct values {
	struct vl_host_options host;
};

static const struct vl_option options[] = {VL_HOST_OPTIONS(struct values, host)};
static const struct vl_command command = {
	.name = "test",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.takes_eal_options = true,
};

static char error[512];

/* The arguments, separated by spaces, through parser and plan. */
static int plan(const char *line, struct vl_host_config *config)
{
	static char text[1024];
	struct values values = {.host = VL_HOST_OPTIONS_INIT};
	struct vl_operands operands;
	char *arguments[64] = {(char *)"test"}, *at = text;
	int count = 1;

	snprintf(text, sizeof(text), "%s", line);
	error[0] = '\0';
	while ((arguments[count] = strsep(&at, " ")))
		count++;
	if (vl_options_parse(&command, count, arguments, &values, &operands, error,
			     sizeof(error)) != VL_OPTIONS_OK)
		return -EINVAL;
	return vl_host_plan(&values.host, true, config, error, sizeof(error));
}

static void expect_error(const char *line, const char *text)
{
	struct vl_host_config config;

	CU_ASSERT_EQUAL(plan(line, &config), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, text));
	if (!strstr(error, text))
		printf("    %s: %s\n", line, error);
}

static void expect_address(const struct vl_ip_address *address, const char *text, uint8_t prefix)
{
	char written[VL_ADDRESS_TEXT];

	CU_ASSERT_STRING_EQUAL(vl_address_text(&address->address, written), text);
	CU_ASSERT_EQUAL(address->prefix_length, prefix);
}

static void test_one_port(void)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x1f};
	struct vl_host_config config;
	char text[VL_ADDRESS_TEXT];

	CU_ASSERT_EQUAL(
		plan("--port null --ip 10.0.0.1/24 --ip fd00::1/64 --gateway 10.0.0.254 "
		     "--gateway fe80::9 --mac 02:00:00:00:00:1F --vlan 7 --pcp 3 --mtu 9000 "
		     "--path-mtu 1024 --workers 2 --seed 9",
		     &config),
		0);
	CU_ASSERT_EQUAL(config.port_count, 1);
	CU_ASSERT_EQUAL(config.worker_count, 2);
	CU_ASSERT_EQUAL(config.device.seed, 9);
	CU_ASSERT_STRING_EQUAL(config.ports[0].name, "null");
	CU_ASSERT_EQUAL(config.ports[0].mtu, 9000);
	CU_ASSERT_EQUAL(config.ports[0].path_mtu, IBV_MTU_1024);
	CU_ASSERT_EQUAL(config.ports[0].ip.address_count, 2);
	expect_address(&config.ports[0].ip.addresses[0], "10.0.0.1", 24);
	expect_address(&config.ports[0].ip.addresses[1], "fd00::1", 64);
	CU_ASSERT_STRING_EQUAL(vl_address_text(&config.ports[0].ip.gateway_ipv4, text),
			       "10.0.0.254");
	CU_ASSERT_STRING_EQUAL(vl_address_text(&config.ports[0].ip.gateway_ipv6, text), "fe80::9");
	CU_ASSERT(config.ports[0].ip.vlan_present);
	CU_ASSERT_EQUAL(config.ports[0].ip.vlan_id, 7);
	CU_ASSERT_EQUAL(config.ports[0].ip.vlan_priority, 3);
	CU_ASSERT(!memcmp(config.ports[0].ip.mac, mac, 6));
}

static void test_defaults(void)
{
	struct vl_host_config config;
	struct vl_host_options unset = VL_HOST_OPTIONS_INIT;

	CU_ASSERT_EQUAL(plan("--port null --ip 10.0.0.1/31", &config), 0);
	CU_ASSERT_EQUAL(config.worker_count, 1);
	CU_ASSERT_EQUAL(config.ports[0].mtu, 0);
	CU_ASSERT_EQUAL(config.ports[0].path_mtu, 0);
	CU_ASSERT_FALSE(config.ports[0].ip.vlan_present);
	CU_ASSERT_EQUAL(config.device.seed, 1);
	CU_ASSERT_EQUAL(vl_host_traffic_class(&unset, 26, 2), 26 << 2 | 2);
	unset.dscp = 0;
	CU_ASSERT_EQUAL(vl_host_traffic_class(&unset, 26, 2), 2);
	/* What a switch that trusts DSCP would pause it by; with a tag the tag says. */
	CU_ASSERT_EQUAL(vl_host_priority(&unset, 26), 3);
	CU_ASSERT_EQUAL(vl_host_priority(&unset, 63), 7);
	unset.vlan = 5;
	unset.pcp = 4;
	CU_ASSERT_EQUAL(vl_host_priority(&unset, 26), 4);
}

static void test_several_ports(void)
{
	struct vl_host_config config;

	CU_ASSERT_EQUAL(plan("--port null --port vdev:net_null1 --ip 10.0.0.1/24 --ip "
			     "10.0.1.1/24@1 --mac 02:00:00:00:00:09@1 --gateway 10.0.1.9@1",
			     &config),
			0);
	CU_ASSERT_EQUAL(config.port_count, 2);
	expect_address(&config.ports[0].ip.addresses[0], "10.0.0.1", 24);
	expect_address(&config.ports[1].ip.addresses[0], "10.0.1.1", 24);
	CU_ASSERT_EQUAL(config.ports[0].ip.mac[5], 0);
	CU_ASSERT_EQUAL(config.ports[1].ip.mac[5], 9);
	CU_ASSERT_EQUAL(config.ports[0].ip.gateway_ipv4.raw[15], 0);
	CU_ASSERT_EQUAL(config.ports[1].ip.gateway_ipv4.raw[15], 9);
	expect_error("--port null --port vdev:net_null1 --ip 10.0.0.1/24",
		     "--ip is missing for port 1 (vdev:net_null1)");
	expect_error("--port null --ip 10.0.0.1/24@1",
		     "there is no port 1; they are numbered from 0");
	expect_error("--port null --ip 10.0.0.1/24@", "there is no port");
	expect_error("--port null --ip 10.0.0.1/24@-1", "there is no port -1");
}

static void test_wrong_values(void)
{
#define PORT "--port null "
	expect_error("--ip 10.0.0.1/24", "--port is missing");
	expect_error("--port bogus:1 --ip 10.0.0.1/24", "bogus:1");
	expect_error("--port null", "--ip is missing for port 0 (null)");
	expect_error(PORT "--ip 10.0.0.1", "lacks the length of the subnet's prefix; write 10.0");
	expect_error(PORT "--ip fd00::1", "write fd00::1/64");
	expect_error(PORT "--ip 10.0.0.1/33", "must be 1 to 32");
	expect_error(PORT "--ip fd00::1/129", "must be 1 to 128");
	expect_error(PORT "--ip 10.0.0.1/0", "must be 1 to 32");
	expect_error(PORT "--ip 10.0.0.1/2x", "must be 1 to 32");
	expect_error(PORT "--ip 10.0.0/24", "'10.0.0' is no address");
	expect_error(PORT "--ip 10.0.0.0/24", "the subnet's own address");
	expect_error(PORT "--ip 10.0.0.255/24", "broadcast address");
	expect_error(PORT "--ip 127.0.0.1/8", "no host can have this address");
	expect_error(PORT "--ip 239.0.0.1/24", "no host can have this address");
	expect_error(PORT "--ip ff02::1/64", "no host can have this address");
	expect_error(PORT "--ip ::1/64", "no host can have this address");
	expect_error(PORT "--ip 10.0.0.1/24 --ip 10.0.0.1/16", "given twice");
	expect_error(PORT "--ip 10.0.0.1/24 --gateway 10.0.1.1", "lies in none of the subnets");
	expect_error(PORT "--ip 10.0.0.1/24 --gateway fe80::1", "lies in none of the subnets");
	expect_error(PORT "--ip 10.0.0.1/24 --gateway 10.0.0.2 --gateway 10.0.0.3",
		     "has one for IPv4 already");
	expect_error(PORT "--ip 10.0.0.1/24 --mac 2:3", "no MAC address");
	expect_error(PORT "--ip 10.0.0.1/24 --mac -2:-1:00:00:00:01", "no MAC address");
	expect_error(PORT "--ip 10.0.0.1/24 --mac 01:00:00:00:00:01", "no host can have");
	expect_error(PORT "--ip 10.0.0.1/24 --mac 00:00:00:00:00:00", "no host can have");
	expect_error(PORT "--ip 10.0.0.1/24 --mac 02:00:00:00:00:01:02", "no MAC address");
	expect_error(PORT "--ip 10.0.0.1/24 --pcp 3", "give --vlan too");
	expect_error(PORT "--ip 10.0.0.1/24 --vlan 4095", "--vlan");
	expect_error(PORT "--ip 10.0.0.1/24 --mtu 1000", "--mtu");
	expect_error(PORT "--ip 10.0.0.1/24 --path-mtu 1500", "choose auto, 256");
	expect_error(PORT "--ip 10.0.0.1/24 --workers 0", "--workers");
#undef PORT
}

static void test_too_many(void)
{
	char line[1024] = "--port null";
	size_t length = strlen(line);

	for (unsigned int i = 0; i <= VL_IP_MAX_ADDRESSES; i++)
		length += (size_t)snprintf(line + length, sizeof(line) - length,
					   " --ip 10.0.0.%u/24", i + 1);
	expect_error(line, "at most 8 addresses");
	line[0] = '\0';
	length = 0;
	for (unsigned int i = 0; i <= VL_HOST_MAX_PORTS; i++)
		length += (size_t)snprintf(line + length, sizeof(line) - length,
					   "%s--port vdev:net_null%u", i ? " " : "", i);
	expect_error(line, "17 ports, at most 16");
}

/* A peer that is none would be waited for as one that is silent: for a minute. */
static void expect_peer(const char *line, const char *peer, const char *text)
{
	struct vl_host_config config;
	union ibv_gid address;

	CU_ASSERT_EQUAL_FATAL(plan(line, &config), 0);
	CU_ASSERT_EQUAL_FATAL(vl_address_parse(peer, &address, error, sizeof(error)), 0);
	error[0] = '\0';
	CU_ASSERT_EQUAL(vl_host_check_peer(&config, &address, error, sizeof(error)),
			text ? -EINVAL : 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, text ? text : ""));
}

static void test_peers(void)
{
	static const char one[] = "--port null --ip 10.0.0.1/24 --ip fd00::1/64";
	static const char two[] = "--port null --port null --ip 10.0.0.1/24 --ip 10.0.0.2/24@1";

	expect_peer(one, "10.0.0.2", NULL);
	expect_peer(one, "10.0.1.255", NULL);
	expect_peer(one, "fd00::2", NULL);
	expect_peer(one, "fe80::1", NULL);
	expect_peer(one, "10.0.0.1", "peer's address 10.0.0.1: this is the own address");
	expect_peer(one, "fd00::1", "this is the own address");
	expect_peer(one, "10.0.0.255", "the subnet's broadcast address; give the peer's");
	expect_peer(one, "10.0.0.0", "the subnet's own address");
	for (unsigned int i = 0; i < 7; i++) {
		static const char *const nobody[] = {"0.0.0.0",   "255.255.255.255",
						     "224.0.0.9", "127.0.0.1",
						     "::",        "::1",
						     "ff02::1"};

		expect_peer(one, nobody[i], "no host can have this address");
	}
	expect_peer(two, "10.0.0.2", NULL);
	expect_peer(two, "10.0.0.255", "broadcast address");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"one_port", test_one_port},           {"defaults", test_defaults},
		{"several_ports", test_several_ports}, {"wrong_values", test_wrong_values},
		{"too_many", test_too_many},           {"peers", test_peers},
	};

	return RUN_SUITE("unit/host_plan", tests, argc, argv);
}
