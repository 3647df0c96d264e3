/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Kinds of ports that need nothing of the kernel's: memif with a second process, capture files,
 * links by name, and the one that nothing comes out of. */

#include "dataplane/port/port.h"
#include "dataplane/runtime/mempool.h"
#include "tests/support/port_frames.h"
#include "tests/vdev/support.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL_SIZE 2047

static struct rte_mempool *pool;
static char directory[] = "/tmp/verbline-ports-XXXXXX";

static struct vl_port *open_with(const char *format, const char *argument,
				 const struct vl_port_config *config)
{
	struct vl_error error = {.text = ""};
	struct vl_port *port;
	char name[512];

	snprintf(name, sizeof(name), format, argument, argument);
	port = vl_port_open(name, config, &error);
	if (!port)
		printf("    %s\n", error.text);
	return port;
}

static struct vl_port *open_port(const char *format, const char *argument)
{
	const struct vl_port_config config = {.mempools = {pool}};

	return open_with(format, argument, &config);
}

static void expect_error(const char *format, const char *argument, const char *text)
{
	const struct vl_port_config config = {.mempools = {pool}};
	struct vl_error error = {.text = ""};
	struct vl_port *port;
	char name[512];

	snprintf(name, sizeof(name), format, argument, argument);
	port = vl_port_open(name, &config, &error);
	CU_ASSERT_PTR_NULL(port);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, text));
	if (!strstr(error.text, text))
		printf("    %s: %s\n", name, error.text);
	vl_port_close(port);
}

static void exchange(struct vl_port *from, struct vl_port *to, uint32_t length)
{
	uint8_t frame[FRAME_ROOM];

	CU_ASSERT(port_send(from, 0, pool, length, length));
	CU_ASSERT_EQUAL(port_receive(to, frame), length);
	CU_ASSERT(frame_is(frame, length, length));
}

/* ---- Names ------------------------------------------------------------------------------- */

static void test_names(void)
{
	static const struct {
		const char *name, *error; /* NULL: right */
	} cases[] = {
		{"null", NULL},
		{"null:", "unknown kind"},
		{"null,size=64", "takes no options"},
		{"nullify", "unknown kind"},
		{"", "unknown kind"},
		{"eth0", "unknown kind"},
		{"ring:", "1 to 255 characters"},
		{"ring:a,loop", NULL},
		{"ring:a,loop=1", "takes no value"},
		{"ring:a,size=0", "takes a number from 1 to 1048576"},
		{"ring:a,size=", "takes a number"},
		{"ring:a,size=9x", "takes a number"},
		{"ring:a,siz=9", "unknown option 'siz=9'; it has: loop, size=NUMBER"},
		{"ring:a,", "unknown option ''"},
		{"tap:abcdefghijklmnop", "1 to 15 characters"},
		{"tap:a,b", "it has: none"},
		{"memif:/tmp/x,client,id=3", NULL},
		{"memif:/tmp/x,id=65536", "from 0 to 65535"},
		{"pcap:a,b", NULL},
		{"pcap:a,", NULL},
		{"pcap:,b", NULL},
		{"pcap:a,b,loop", NULL},
		{"pcap:,b,loop", "write pcap:IN,OUT"},
		{"pcap:,", "write pcap:IN,OUT"},
		{"pcap:a", "write pcap:IN,OUT"},
		{"pci:3b:00.0", NULL},
		{"pci:0000:3b:00.0,rx_desc=1", NULL},
		{"pci:0000:3b:00.00", "lspci -D"},
		{"af_packet:eth0,frames=4096", NULL},
		{"af_xdp:eth0,queue=3,copy", NULL},
		{"vdev:net_null0", NULL},
	};
	char devargs[64];
	struct vl_error error;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int result = vl_port_check_name(cases[i].name, &error);

		CU_ASSERT_EQUAL(result, cases[i].error ? -EINVAL : 0);
		if (!cases[i].error)
			continue;
		CU_ASSERT_PTR_NOT_NULL(strstr(error.text, cases[i].error));
		if (!strstr(error.text, cases[i].error))
			printf("    %s: %s\n", cases[i].name, error.text);
	}
	CU_ASSERT(vl_port_name_is_pci("pci:3b:00.1,a=1", devargs, sizeof(devargs)));
	CU_ASSERT_STRING_EQUAL(devargs, "0000:3b:00.1,a=1");
	CU_ASSERT_FALSE(vl_port_name_is_pci("null", devargs, sizeof(devargs)));
	/* Each kind is in the help. */
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_port_names_help(), "  pci:ADDRESS"));
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_port_names_help(), "  vdev:NAME"));
}

/* ---- ring, null, pcap -------------------------------------------------------------------- */

static void test_ring(void)
{
	const struct vl_port_config three = {.mempools = {pool}, .queue_count = 3, .mtu = 9000};
	struct vl_port *left = open_with("ring:cable", "", &three), *right;
	uint8_t frame[FRAME_ROOM];

	CU_ASSERT_PTR_NOT_NULL_FATAL(left);
	expect_error("ring:cable", "", "1 queues, and the other end has 3");
	right = open_with("ring:cable", "", &three);
	CU_ASSERT_PTR_NOT_NULL_FATAL(right);
	expect_error("ring:cable", "", "both ends of this link are in use");
	CU_ASSERT_EQUAL(left->mtu, 9000);
	exchange(left, right, 60);
	exchange(right, left, 9014);
	/* What goes out on a queue comes in on the same one. */
	CU_ASSERT(port_send(left, 2, pool, 100, 1));
	CU_ASSERT_EQUAL(port_receive(right, frame), 100);
	CU_ASSERT(port_send(left, 1, pool, 100, 1));
	vl_port_close(left);
	/* The name is free for another link, while the old end is still there. */
	left = open_port("ring:cable", "");
	CU_ASSERT_PTR_NOT_NULL(left);
	vl_port_close(right);
	vl_port_close(left);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static void test_ring_loop(void)
{
	struct vl_port *port = open_port("ring:mirror,loop,size=4", "");

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	exchange(port, port, 1500);
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT(port_send(port, 0, pool, 60, 1));
	CU_ASSERT_FALSE(port_send(port, 0, pool, 60, 1));
	vl_port_close(port);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static void test_null(void)
{
	const struct vl_port_config config = {.mempools = {pool}, .queue_count = 2, .mtu = 9600};
	struct vl_port *port = open_with("null", "", &config);
	struct vl_port_statistics statistics;
	struct rte_mbuf *mbuf;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_EQUAL(port->queue_count, 2);
	CU_ASSERT_EQUAL(port->mtu, 9600);
	CU_ASSERT_EQUAL(port->link_rate, 0);
	for (uint16_t queue = 0; queue < 2; queue++) {
		CU_ASSERT(port_send(port, queue, pool, 9014, 1));
		CU_ASSERT_EQUAL(vl_port_receive(port, queue, &mbuf, 1), 0);
	}
	vl_port_statistics(port, &statistics);
	CU_ASSERT_EQUAL(statistics.tx_frames, 2);
	vl_port_close(port);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static void test_pcap(void)
{
	static const uint32_t lengths[] = {60, 1514, 4158, 9000};
	struct vl_port *port = open_port("pcap:,%s/out.pcap", directory);
	uint8_t frame[FRAME_ROOM];

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT(port_send(port, 0, pool, lengths[i], i));
	vl_port_close(port);
	port = open_port("pcap:%s/out.pcap,%s/back.pcap", directory);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(port_receive(port, frame), lengths[i]);
		CU_ASSERT(frame_is(frame, lengths[i], i));
	}
	CU_ASSERT(port_send(port, 0, pool, 64, 9));
	vl_port_close(port);
	port = open_port("pcap:%s/back.pcap,,loop", directory);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	for (unsigned int i = 0; i < 50; i++)
		CU_ASSERT_EQUAL(port_receive(port, frame), 64);
	vl_port_close(port);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	expect_error("pcap:%s/nosuch.pcap,", directory, "cannot read");
	expect_error("pcap:,%s/no/such.pcap", directory, "cannot write");
}

/* ---- memif ------------------------------------------------------------------------------- */

/* Other processes: each gives back what it gets, until it is killed. Two use DPDK's own driver. */
static const struct {
	const char *port;    /* the peer's */
	const char *our_end; /* ours */
} peers[] = {
	{"memif:%s/own", "memif:%s/own"},
	{"vdev:net_memif0,role=server,id=7,bsize=2048,socket-abstract=no,socket=%s/server",
	 "memif:%s/server,client,id=7,buffer=2048"},
	{"vdev:net_memif0,role=client,id=7,bsize=2048,socket-abstract=no,socket=%s/client",
	 "memif:%s/client,server,id=7"},
};

#define PEER_COUNT 3

static pid_t processes[PEER_COUNT];

static void echo(unsigned int peer)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	struct vl_port_config config = {0};
	struct vl_port *port;
	cpu_set_t cpus;
	char name[256];

	/* EAL puts the processes' main threads on the same CPU. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) || test_start_eal(1))
		_exit(TEST_SKIPPED);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	alarm(60);
	pool = vl_mempool_create("echo", POOL_SIZE, NULL);
	/* A client of DPDK's driver does not start without its server. */
	snprintf(name, sizeof(name), peers[peer].port, directory);
	config.mempools[0] = pool;
	while (!(port = vl_port_open(name, &config, NULL)))
		usleep(1000);
	for (unsigned int i = 0;; i++) {
		uint16_t count = vl_port_receive(port, 0, mbufs, VL_PORT_BURST), sent;

		/* A client of DPDK's driver is joined by being asked. */
		if (i % 256 == 0)
			vl_port_is_up(port);
		sent = count ? vl_port_transmit(port, 0, mbufs, count) : 0;
		rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
		if (!count)
			usleep(10);
	}
}

static bool reaches_peer(struct vl_port *port)
{
	uint8_t frame[FRAME_ROOM];

	for (unsigned int i = 0; i < 3000; i++) {
		if (vl_port_is_up(port) && port_send(port, 0, pool, 60, 60))
			return port_receive(port, frame) == 60;
		usleep(1000);
	}
	return false;
}

/* The server's socket is there: so this process is the client. */
static void wait_for_server(const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	for (unsigned int i = 0; i < 3000 && access(path, F_OK); i++)
		usleep(1000);
}

static void speak_with(unsigned int peer, unsigned int rounds)
{
	const struct vl_port_config config = {.mempools = {pool}, .mtu = 9000};
	struct vl_port_statistics statistics;
	struct vl_port *port;

	if (processes[peer] < 0) {
		skip_test("no second process");
		return;
	}
	for (unsigned int round = 0; round < rounds; round++) {
		port = open_with(peers[peer].our_end, directory, &config);
		CU_ASSERT_PTR_NOT_NULL_FATAL(port);
		CU_ASSERT_FATAL(reaches_peer(port));
		/* Buffers of 2 kB, 4 kB and 9 kB on the way: a frame may need several of either. */
		for (uint32_t length = 60; length <= 9014; length += 97)
			exchange(port, port, length);
		exchange(port, port, 9014);
		vl_port_statistics(port, &statistics);
		CU_ASSERT(statistics.tx_frames >= 94 && statistics.rx_frames >= 94);
		CU_ASSERT_EQUAL(statistics.rx_errors + statistics.tx_errors, 0);
		vl_port_close(port);
		CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	}
}

static void test_memif(void)
{
	wait_for_server("own");
	speak_with(0, 4);
}

static void test_memif_dpdk_server(void)
{
	wait_for_server("server");
	/* Once: DPDK's server may not outlive a client's leaving. */
	speak_with(1, 1);
}

static void test_memif_dpdk_client(void)
{
	speak_with(2, 1);
}

/* The peer dies in the midst, and another comes. */
static void test_memif_peer_dies(void)
{
	struct vl_port *port = open_port("memif:%s/own,client", directory);
	unsigned int i;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_FATAL(reaches_peer(port));
	kill(processes[0], SIGKILL);
	waitpid(processes[0], NULL, 0);
	processes[0] = -1;
	for (i = 0; i < 2000 && vl_port_is_up(port); i++) {
		port_send(port, 0, pool, 1000, i);
		usleep(1000);
	}
	CU_ASSERT_FALSE(vl_port_is_up(port));
	CU_ASSERT_FALSE(port_send(port, 0, pool, 60, 1));
	vl_port_close(port);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static void test_memif_paths(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct vl_port *port;
	char path[128];
	int stale;

	expect_error("memif:/nonexistent/dir/socket", "", "no socket can be made");
	expect_error("memif:%s/x,client,server", directory, "either server or client");
	snprintf(path, sizeof(path), "%s/file", directory);
	fclose(fopen(path, "w"));
	expect_error("memif:%s/file,server", directory, "is no socket");
	/* A server that is gone has left its socket. */
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/stale", directory);
	stale = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	CU_ASSERT_EQUAL(bind(stale, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(stale);
	port = open_port("memif:%s/stale", directory);
	CU_ASSERT_PTR_NOT_NULL(port);
	vl_port_close(port);
}

/* Somebody has removed a server's socket, and another server has the path now: that stays. */
static void test_memif_other_server(void)
{
	struct vl_port *first = open_port("memif:%s/shared,server", directory), *second, *client;
	char path[128];

	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	snprintf(path, sizeof(path), "%s/shared", directory);
	CU_ASSERT_EQUAL(unlink(path), 0);
	second = open_port("memif:%s/shared,server", directory);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	vl_port_close(first);
	client = open_port("memif:%s/shared,client", directory);
	CU_ASSERT_PTR_NOT_NULL_FATAL(client);
	CU_ASSERT_TRUE(vl_port_is_up(client));
	vl_port_close(client);
	vl_port_close(second);
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"names", test_names},
		{"ring", test_ring},
		{"ring_loop", test_ring_loop},
		{"null", test_null},
		{"pcap", test_pcap},
		{"memif", test_memif},
		{"memif_dpdk_server", test_memif_dpdk_server},
		{"memif_dpdk_client", test_memif_dpdk_client},
		{"memif_peer_dies", test_memif_peer_dies},
		{"memif_paths", test_memif_paths},
		{"memif_other_server", test_memif_other_server},
	};
	struct vl_error error;
	char command[64];
	int result;

	if (!mkdtemp(directory))
		return 1;
	fflush(stdout);
	for (unsigned int i = 0; i < PEER_COUNT; i++) {
		processes[i] = fork();
		if (!processes[i])
			echo(i);
	}
	result = test_start_eal(1);
	if (!result) {
		pool = vl_mempool_create("kinds", POOL_SIZE, &error);
		result = pool ? RUN_SUITE("vdev/port_kinds", tests, argc, argv) : 1;
		rte_mempool_free(pool);
		vl_eal_stop();
	}
	for (unsigned int i = 0; i < PEER_COUNT; i++) {
		if (processes[i] > 0) {
			kill(processes[i], SIGKILL);
			waitpid(processes[i], NULL, 0);
		}
	}
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) ? 1 : result;
}
