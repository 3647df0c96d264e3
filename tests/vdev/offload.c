/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a device does to frames that it receives: net_null stands in for the device, with a
 * description and a clock made here (the linker brings the calls for these here), and a receive
 * callback puts in what the device is to have received: mbufs with flags, time stamps and segments.
 */

#include "dataplane/port/ethdev.h"
#include "dataplane/port/port.h"
#include "dataplane/port/receive_offload.h"
#include "dataplane/runtime/endpoint_stage.h"
#include "dataplane/runtime/host.h"
#include "dataplane/runtime/mempool.h"
#include "dataplane/worker.h"
#include "tests/vdev/support.h"
#include "transport/wire/headers.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mempool.h>

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define LENGTH 60u
/* The device's clock: 156.25 MHz, which began long before us. */
#define TICKS_PER_32NS 5u
#define ORIGIN         UINT64_C(0xfffffff000000000)

#define ABILITIES                                                                                  \
	(RTE_ETH_RX_OFFLOAD_TIMESTAMP | RTE_ETH_RX_OFFLOAD_IPV4_CKSUM |                            \
	 RTE_ETH_RX_OFFLOAD_VLAN_STRIP)

static struct {
	uint64_t abilities;     /* of the device */
	uint64_t was_enabled;   /* as it was configured */
	bool is_without_clock;  /* it says that it has time stamps, and none can be compared */
	_Atomic uint64_t shift; /* ns that its clock has jumped by */
	struct rte_mbuf *received[VL_PORT_BURST];
	uint16_t count;
} device;

static struct rte_mempool *pool, *small_pool;
static struct vl_port *port;

/* ---- The device -------------------------------------------------------------------------- */

int __real_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info);
int __real_rte_eth_dev_configure(uint16_t id, uint16_t rx, uint16_t tx,
				 const struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_configure(uint16_t id, uint16_t rx, uint16_t tx,
				 const struct rte_eth_conf *conf);
int __wrap_rte_eth_read_clock(uint16_t id, uint64_t *clock);

int __wrap_rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info)
{
	int result = __real_rte_eth_dev_info_get(id, info);

	info->rx_offload_capa |= device.abilities;
	return result;
}

int __wrap_rte_eth_dev_configure(uint16_t id, uint16_t rx, uint16_t tx,
				 const struct rte_eth_conf *conf)
{
	struct rte_eth_conf real = *conf;

	device.was_enabled = conf->rxmode.offloads;
	real.rxmode.offloads &= ~device.abilities;
	return __real_rte_eth_dev_configure(id, rx, tx, &real);
}

static uint64_t ticks_at(uint64_t time)
{
	return ORIGIN + (time + device.shift) * TICKS_PER_32NS / 32;
}

int __wrap_rte_eth_read_clock(uint16_t id, uint64_t *clock)
{
	(void)id;
	if (device.is_without_clock)
		return -ENOTSUP;
	*clock = ticks_at(vl_worker_now());
	return 0;
}

static uint16_t put_in(uint16_t id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count,
		       uint16_t most, void *context)
{
	(void)id, (void)queue, (void)context;
	while (device.count && count < most) {
		mbufs[count++] = device.received[0];
		device.count--;
		memmove(device.received, device.received + 1,
			device.count * sizeof(device.received[0]));
	}
	return count;
}

static void open_port(uint64_t abilities)
{
	struct vl_port_config config = {.mempools = {pool}};
	struct vl_error error = {.text = ""};

	device.abilities = abilities;
	port = vl_port_open("null", &config, &error);
	CU_ASSERT_STRING_EQUAL(error.text, "");
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_PTR_NOT_NULL_FATAL(
		rte_eth_add_rx_callback((uint16_t)vl_ethdev_id(port), 0, put_in, NULL));
}

static void close_port(void)
{
	vl_port_close(port);
	device.is_without_clock = false;
	device.shift = 0;
	CU_ASSERT_EQUAL(device.count, 0);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(small_pool), 0);
}

/* A frame of bytes that count, behind MACs and a type of its own. */
static struct rte_mbuf *receive_one(uint64_t flags)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint8_t *data;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mbuf);
	data = (uint8_t *)rte_pktmbuf_append(mbuf, LENGTH);
	for (uint32_t i = 0; i < LENGTH; i++)
		data[i] = (uint8_t)i;
	mbuf->ol_flags = flags;
	device.received[device.count++] = mbuf;
	return mbuf;
}

static void receive_at(uint64_t ticks)
{
	struct rte_mbuf *mbuf = receive_one(vl_receive_time_flag);

	*RTE_MBUF_DYNFIELD(mbuf, vl_receive_time_offset, uint64_t *) = ticks;
}

static struct rte_mbuf *take_one(void)
{
	struct rte_mbuf *mbuf = NULL;

	CU_ASSERT_EQUAL_FATAL(vl_port_receive(port, 0, &mbuf, 1), 1);
	return mbuf;
}

/* The bytes of a frame with so many bytes of tags behind its MACs. */
static bool is_whole(const struct rte_mbuf *mbuf, uint32_t tags)
{
	const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	if (mbuf->data_len != LENGTH + tags || mbuf->pkt_len != LENGTH + tags)
		return false;
	for (uint32_t i = 0; i < LENGTH; i++) {
		if (data[i < 12 ? i : i + tags] != i)
			return false;
	}
	return true;
}

static struct vl_port_statistics statistics(void)
{
	struct vl_port_statistics found;

	vl_port_statistics(port, &found);
	return found;
}

/* ---- Tests ------------------------------------------------------------------------------- */

static void test_enabled(void)
{
	open_port(ABILITIES);
	CU_ASSERT_EQUAL(device.was_enabled,
			RTE_ETH_RX_OFFLOAD_TIMESTAMP | RTE_ETH_RX_OFFLOAD_IPV4_CKSUM);
	CU_ASSERT_TRUE(port->abilities.rx_time);
	CU_ASSERT_STRING_EQUAL(vl_port_arrival_clock(port), "device");
	CU_ASSERT_TRUE(port->abilities.rx_ip_checksum);
	close_port();
	open_port(0);
	CU_ASSERT_EQUAL(device.was_enabled, 0);
	CU_ASSERT_FALSE(port->abilities.rx_time);
	CU_ASSERT_STRING_EQUAL(vl_port_arrival_clock(port), "TSC");
	CU_ASSERT_EQUAL(vl_port_arrival_error(port), 0);
	CU_ASSERT_FALSE(port->abilities.rx_ip_checksum);
	close_port();
	device.is_without_clock = true;
	open_port(ABILITIES);
	CU_ASSERT_FALSE(port->abilities.rx_time);
	close_port();
}

static void test_tags(void)
{
	static const uint8_t one[] = {0x81, 0, 0x60, 0x05};
	static const uint8_t two[] = {0x88, 0xa8, 0x20, 0x07, 0x81, 0, 0x60, 0x05};
	struct rte_mbuf *mbuf;

	open_port(0);
	receive_one(0)->vlan_tci = 0x1234; /* means nothing without the flag */
	mbuf = take_one();
	CU_ASSERT_TRUE(is_whole(mbuf, 0));
	rte_pktmbuf_free(mbuf);

	receive_one(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED)->vlan_tci = 0x6005;
	mbuf = take_one();
	CU_ASSERT_TRUE(is_whole(mbuf, 4));
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, 12), one, 4), 0);
	CU_ASSERT_FALSE(mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED);
	rte_pktmbuf_free(mbuf);

	mbuf = receive_one(RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED);
	mbuf->vlan_tci = 0x6005;
	mbuf->vlan_tci_outer = 0x2007;
	mbuf = take_one();
	CU_ASSERT_TRUE(is_whole(mbuf, 8));
	CU_ASSERT_EQUAL(memcmp(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, 12), two, 8), 0);
	rte_pktmbuf_free(mbuf);

	/* Seen, and left in: nothing to do. */
	receive_one(RTE_MBUF_F_RX_VLAN)->vlan_tci = 0x6005;
	mbuf = take_one();
	CU_ASSERT_TRUE(is_whole(mbuf, 0));
	rte_pktmbuf_free(mbuf);
	close_port();
}

static void test_tag_without_room(void)
{
	struct rte_mbuf *mbuf;

	open_port(0);
	mbuf = receive_one(RTE_MBUF_F_RX_VLAN_STRIPPED);
	mbuf->data_off = 2;
	CU_ASSERT_EQUAL(vl_port_receive(port, 0, &mbuf, 1), 0);
	CU_ASSERT_EQUAL(statistics().rx_tag_lost, 1);
	close_port();
}

static void test_checksums(void)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];

	open_port(ABILITIES);
	receive_one(RTE_MBUF_F_RX_IP_CKSUM_GOOD);
	receive_one(RTE_MBUF_F_RX_IP_CKSUM_BAD);
	receive_one(RTE_MBUF_F_RX_IP_CKSUM_NONE); /* wrong, but not to be relied on */
	receive_one(RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN);
	CU_ASSERT_EQUAL_FATAL(vl_port_receive(port, 0, mbufs, VL_PORT_BURST), 3);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_TRUE(is_whole(mbufs[i], 0));
	rte_pktmbuf_free_bulk(mbufs, 3);
	CU_ASSERT_EQUAL(statistics().rx_ip_checksum, 1);
	CU_ASSERT_EQUAL(statistics().rx_tag_lost, 0);
	close_port();
}

static uint64_t take_time(uint64_t now)
{
	struct rte_mbuf *mbuf = take_one();
	uint64_t time = vl_receive_time(mbuf, now);

	rte_pktmbuf_free(mbuf);
	return time;
}

static void test_times(void)
{
	uint64_t sent, now, first, second;

	open_port(ABILITIES);
	sent = vl_worker_now();
	receive_at(ticks_at(sent - 50000));
	receive_at(ticks_at(sent - 20000));
	receive_at(ticks_at(sent - 30000)); /* out of order: not before the one before */
	first = take_time(UINT64_MAX);
	second = take_time(UINT64_MAX);
	CU_ASSERT(first + 51000 > sent && first + 49000 < sent);
	CU_ASSERT(second + 21000 > sent && second + 19000 < sent);
	CU_ASSERT_EQUAL(take_time(UINT64_MAX), second);
	/* Ahead of us by less than a millisecond: now. */
	receive_at(ticks_at(vl_worker_now() + 500000));
	second = take_time(UINT64_MAX);
	CU_ASSERT(second >= sent && second <= vl_worker_now());
	/* Whoever had his time before is not told of a later one. */
	receive_at(ticks_at(vl_worker_now()));
	CU_ASSERT_EQUAL(take_time(first), first);
	CU_ASSERT_EQUAL(statistics().rx_timed, 5);
	/* No times: from the far future, from the far past, and without one. */
	now = UINT64_MAX - 5;
	receive_at(ticks_at(vl_worker_now() + 10000000000));
	CU_ASSERT_EQUAL(take_time(now), now);
	receive_at(12345);
	CU_ASSERT_EQUAL(take_time(now), now);
	receive_one(0);
	CU_ASSERT_EQUAL(take_time(now), now);
	CU_ASSERT_EQUAL(statistics().rx_timed, 5);
	close_port();
	/* A device whose clock cannot be read: its stamps say nothing. */
	device.is_without_clock = true;
	open_port(ABILITIES);
	receive_at(ticks_at(vl_worker_now()));
	CU_ASSERT_EQUAL(take_time(now), now);
	close_port();
}

/* The error that is told of holds what the clock is really off by: 2 us, from a little after the
 * start on. */
static void test_clock_error(void)
{
	uint64_t error = 0, end, sent;

	open_port(ABILITIES);
	error = vl_port_arrival_error(port);
	CU_ASSERT(error > 0 && error < 1000000);
	device.shift = 2000;
	end = vl_worker_now() + 500000000;
	while (error < 2000 && vl_worker_now() < end) {
		rte_delay_us_sleep(5000);
		error = vl_port_arrival_error(port);
	}
	CU_ASSERT(error >= 1900);
	/* It was corrected; what times may have been wrong by stays. */
	sent = vl_worker_now();
	receive_at(ticks_at(sent - 50000));
	CU_ASSERT(take_time(UINT64_MAX) + 50000 + error >= sent);
	CU_ASSERT(vl_port_arrival_error(port) >= 1900);
	close_port();
}

/* The device's clock gains 20 ppm, then is set back by a second. */
static void test_drift(void)
{
	struct vl_clock_reading first = {1000, 0, 0}, second = {1000 + 25000000, 20000000, 0};
	struct vl_clock_view view = {0};
	struct vl_device_clock clock;
	uint64_t ticks = second.ticks, now = second.time, time = 0, worst = 0;

	uint64_t deviation;

	CU_ASSERT_FALSE(vl_device_clock_init(&clock, &first, &first));
	CU_ASSERT_FALSE(vl_device_clock_init(&clock, &first,
					     &(struct vl_clock_reading){first.ticks, 20000000, 0}));
	CU_ASSERT_TRUE_FATAL(vl_device_clock_init(&clock, &first, &second));
	for (int i = 0; i < 60; i++) {
		ticks += 1250025000;
		now += 1000000000;
		vl_clock_view_renew(&view, &clock);
		CU_ASSERT_TRUE(vl_clock_view_time(&view, ticks, now, &time));
		CU_ASSERT(time <= now);
		/* Before this second's correction, once the rate is known. */
		if (i > 20 && now - time > worst)
			worst = now - time;
		deviation = vl_device_clock_deviation(&clock,
						      &(struct vl_clock_reading){ticks, now, 0});
		/* Times are never ahead of now. */
		CU_ASSERT(deviation == now - time || time == now);
		vl_device_clock_correct(&clock, &(struct vl_clock_reading){ticks, now, 0});
	}
	CU_ASSERT(worst < 100);
	vl_device_clock_correct(&clock,
				&(struct vl_clock_reading){ticks - 1250000000, now + 1000, 0});
	vl_clock_view_renew(&view, &clock);
	CU_ASSERT_TRUE(vl_clock_view_time(&view, ticks - 1250000000 + 1250, now + 5000, &time));
	CU_ASSERT(time >= now + 1990 && time <= now + 2010);
}

/* ---- In several buffers, and at an endpoint ----------------------------------------------- */

static struct {
	uint32_t count, length;
	uint64_t time;
	uint8_t bytes[VL_MAX_FRAME_LENGTH];
} seen;

static void see(void *context, enum vl_direction direction, const struct vl_frame *frame,
		uint64_t now, const char *comment)
{
	(void)context, (void)comment;
	if (direction != VL_DIRECTION_RECEIVED)
		return;
	seen.count++;
	seen.length = frame->length;
	seen.time = now;
	memcpy(seen.bytes, frame->data, frame->length);
}

/* In buffers that are full, as devices scatter. */
static void receive_scattered(uint32_t length)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(small_pool), *last = head;

	CU_ASSERT_PTR_NOT_NULL_FATAL(head);
	for (uint32_t i = 0; i < length; i++) {
		if (!rte_pktmbuf_tailroom(last)) {
			last = rte_pktmbuf_alloc(small_pool);
			CU_ASSERT_PTR_NOT_NULL_FATAL(last);
			CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_chain(head, last), 0);
		}
		*(uint8_t *)rte_pktmbuf_append(head, 1) = (uint8_t)(i * 7);
	}
	device.received[device.count++] = head;
}

static void test_endpoint(void)
{
	const struct vl_endpoint_config config = {
		.device = {.mac = {2, 0, 0, 0, 0, 1},
			   .gid_count = 1,
			   .gids = {{.gid = {.raw = {0xfd, [15] = 1}},
				     .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6}}},
	};
	struct vl_endpoint *endpoint = vl_endpoint_create(&config, NULL);
	struct vl_frame_tap tap = {.see = see};
	struct vl_endpoint_stage stage;
	struct vl_stage run;
	uint64_t sent;
	bool is_right = true;

	CU_ASSERT_PTR_NOT_NULL_FATAL(endpoint);
	open_port(ABILITIES);
	vl_endpoint_set_tap(endpoint, &tap);
	vl_endpoint_stage_init(&stage, endpoint, port, pool);
	run = vl_endpoint_stage(&stage);
	receive_scattered(4000);
	run.run(run.context, vl_worker_now());
	CU_ASSERT_EQUAL(seen.count, 1);
	CU_ASSERT_EQUAL(seen.length, 4000);
	for (uint32_t i = 0; i < 4000; i++)
		is_right = is_right && seen.bytes[i] == (uint8_t)(i * 7);
	CU_ASSERT_TRUE(is_right);
	/* Longer than any buffer. */
	receive_scattered(6000);
	run.run(run.context, vl_worker_now());
	CU_ASSERT_EQUAL(seen.count, 1);
	CU_ASSERT_EQUAL(stage.counters.rx_segmented, 1);

	/* The tap is told when a frame came in, not when it was taken. */
	sent = vl_worker_now();
	receive_at(ticks_at(sent));
	rte_delay_us_block(2000);
	run.run(run.context, vl_worker_now());
	CU_ASSERT_EQUAL(seen.count, 2);
	CU_ASSERT(seen.time + 1000 > sent && seen.time < sent + 1000);
	vl_endpoint_stage_release(&stage);
	vl_endpoint_destroy(endpoint);
	close_port();
}

/* ---- Handed over to another worker --------------------------------------------------------- */

static struct worker_seen {
	atomic_uint count;
	uint64_t times[2], taken[2];
} worker_seen[2];

static void see_at_worker(void *context, enum vl_direction direction, const struct vl_frame *frame,
			  uint64_t now, const char *comment)
{
	struct worker_seen *own = context;
	unsigned int count = atomic_load(&own->count);

	(void)frame, (void)comment;
	if (direction != VL_DIRECTION_RECEIVED || count == 2)
		return;
	own->times[count] = now;
	own->taken[count] = vl_worker_now();
	atomic_store(&own->count, count + 1);
}

/* To a queue pair of the second worker, as far as steering looks at it; or by ARP to all. */
static void receive_stamped(bool is_arp, uint64_t time)
{
	struct rte_mbuf *mbuf = receive_one(vl_receive_time_flag);
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);

	*RTE_MBUF_DYNFIELD(mbuf, vl_receive_time_offset, uint64_t *) = ticks_at(time);
	memset(data, 0, LENGTH);
	vl_store_be16(data + 12, is_arp ? RTE_ETHER_TYPE_ARP : VL_ETHERTYPE_IPV4);
	if (is_arp)
		return;
	data[14] = 0x45;
	data[14 + 9] = VL_IP_PROTOCOL_UDP;
	vl_store_be16(data + 34 + 2, VL_ROCEV2_UDP_PORT);
	vl_store_be24(data + 42 + 5, 1u << VL_HOST_QPN_SHIFT);
}

/* One queue for two workers: the second has its frames from the first, whole or as copies, and with
 * the device's time. */
static void test_handed_over(void)
{
	struct vl_host_config config = {.worker_count = 2, .port_count = 1, .device = {.seed = 1}};
	const struct timespec step = {0, 1000000};
	struct vl_error error = {.text = ""};
	uint64_t first, second, end;
	struct vl_host *host;

	open_port(ABILITIES);
	config.ports[0].port = port;
	host = vl_host_create(&config, &error);
	CU_ASSERT_STRING_EQUAL(error.text, "");
	CU_ASSERT_PTR_NOT_NULL_FATAL(host);
	memset(worker_seen, 0, sizeof(worker_seen));
	for (uint32_t i = 0; i < 2; i++) {
		struct vl_frame_tap tap = {.see = see_at_worker, .context = &worker_seen[i]};

		vl_endpoint_set_tap(vl_host_endpoint(host, 0, i), &tap);
	}
	/* Both are there, and a while old, before any worker looks. */
	first = vl_worker_now();
	receive_stamped(false, first);
	rte_delay_us_block(300);
	second = vl_worker_now();
	receive_stamped(true, second);
	rte_delay_us_block(3000);
	CU_ASSERT_EQUAL(vl_host_start(host, &error), 0);
	end = vl_host_now(host) + UINT64_C(5000000000);
	while ((atomic_load(&worker_seen[0].count) < 1 || atomic_load(&worker_seen[1].count) < 2) &&
	       vl_host_now(host) < end)
		nanosleep(&step, NULL);
	vl_host_stop(host);
	CU_ASSERT_EQUAL(worker_seen[0].count, 1);
	CU_ASSERT_EQUAL_FATAL(worker_seen[1].count, 2);
	CU_ASSERT_EQUAL(vl_host_counters(host, 0).handed_over, 2);
	CU_ASSERT_EQUAL(statistics().rx_timed, 2);
	/* By the clocks' error, which is well below the 300 us between the two. */
	CU_ASSERT(worker_seen[1].times[0] + 100000 > first &&
		  worker_seen[1].times[0] < first + 100000);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT(worker_seen[i].times[i] + 100000 > second &&
			  worker_seen[i].times[i] < second + 100000);
		CU_ASSERT(worker_seen[i].taken[i] >= second + 3000000);
	}
	vl_host_destroy(host);
	CU_ASSERT_EQUAL(device.count, 0);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

static int run_tests(int argc, char **argv)
{
	static const struct test tests[] = {
		{"enabled", test_enabled},
		{"tags", test_tags},
		{"tag_without_room", test_tag_without_room},
		{"checksums", test_checksums},
		{"times", test_times},
		{"clock_error", test_clock_error},
		{"drift", test_drift},
		{"endpoint", test_endpoint},
		{"handed_over", test_handed_over},
	};
	struct vl_error error;

	pool = vl_mempool_create("large", 255, &error);
	small_pool = rte_pktmbuf_pool_create("small", 255, 0, 0, RTE_PKTMBUF_HEADROOM + 512,
					     SOCKET_ID_ANY);
	if (!pool || !small_pool) {
		printf("no mempools\n");
		return 1;
	}
	return RUN_SUITE("vdev/offload", tests, argc, argv);
}

int main(int argc, char **argv)
{
	int result = test_start_eal(2);

	if (result)
		return result;
	result = run_tests(argc, argv);
	rte_mempool_free(pool);
	rte_mempool_free(small_pool);
	vl_eal_stop();
	return result;
}
