/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Whether ports send pause frames, and pass up those that they receive: shown by sending. The
 * frames enable all classes with a pause of no length, so that they stop nobody.
 */
#include "apps/doctor/checks.h"
#include "dataplane/pfc.h"

#include <rte_mbuf.h>

#include <string.h>
#include <time.h>
#include <unistd.h>

#define FRAMES      5u
#define PATIENCE_NS 300000000
#define LOOK_NS     100000
#define MAX_PORTS   64
#define SETTLE_NS   20000000

/* Port n's frames carry this address, so that they are told from others' on the same wire, be they
 * another doctor's. */
static void make_source(uint8_t mac[6], unsigned int port)
{
	const uint32_t process = (uint32_t)getpid();

	mac[0] = 0x02;
	memcpy(mac + 1, &process, sizeof(process));
	mac[5] = (uint8_t)port;
}

static unsigned int send_frames(struct vl_port *port, struct rte_mempool *mempool,
				unsigned int number)
{
	const struct vl_pfc pfc = {.enabled = 0xff};
	unsigned int sent = 0;
	uint8_t source[6];

	make_source(source, number);
	for (unsigned int i = 0; i < FRAMES; i++) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(mempool);

		if (!mbuf)
			break;
		vl_pfc_write((uint8_t *)rte_pktmbuf_append(mbuf, VL_PFC_FRAME_LENGTH), source,
			     &pfc);
		if (vl_port_transmit(port, 0, &mbuf, 1))
			sent++;
		else
			rte_pktmbuf_free(mbuf);
	}
	return sent;
}

/* Whose frame it is: the number of the port that sent it, or -1. */
static int sender_of(const struct rte_mbuf *mbuf)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint8_t source[6];
	struct vl_pfc pfc;

	if (vl_pfc_parse(frame, mbuf->data_len, &pfc) != VL_MAC_CONTROL_PFC)
		return -1;
	make_source(source, frame[11]);
	return memcmp(frame + 6, source, sizeof(source)) ? -1 : frame[11];
}

struct arrivals {
	unsigned int counts[MAX_PORTS][MAX_PORTS]; /* by receiving and sending port */
};

static void receive(struct arrivals *arrivals, struct vl_port *const *ports, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct rte_mbuf *mbufs[VL_PORT_BURST];
		uint16_t got = vl_port_receive(ports[i], 0, mbufs, VL_PORT_BURST);

		for (uint16_t j = 0; j < got; j++) {
			int sender = sender_of(mbufs[j]);

			if (sender >= 0 && sender < MAX_PORTS)
				arrivals->counts[i][sender]++;
		}
		rte_pktmbuf_free_bulk(mbufs, got);
	}
}

/* Of the others there is no far end that could be another port, or the port itself. */
static bool has_cable(const char *name)
{
	return strcmp(name, "null") && strncmp(name, "null:", 5) && strncmp(name, "pcap:", 5);
}

static void report(struct findings *findings, struct vl_port *const *ports, unsigned int count,
		   unsigned int number, unsigned int sent, uint64_t counted,
		   const struct arrivals *arrivals)
{
	const char *name = ports[number]->name;
	unsigned int seen = 0, taken = 0, at = 0, from = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (arrivals->counts[i][number]) {
			seen = arrivals->counts[i][number];
			at = i;
		}
		if (arrivals->counts[number][i]) {
			taken = arrivals->counts[number][i];
			from = i;
		}
	}
	if (seen)
		finding_add(findings, "PFC sent", name, FINDING_OK, NULL,
			    "%u of %u frames came in at %s", seen, sent,
			    at == number ? "the port itself, which is looped" : ports[at]->name);
	else if (!sent)
		finding_add(findings, "PFC sent", name, FINDING_LACK, NULL,
			    "the port takes no frame (is the link up?)");
	else if (!has_cable(name))
		finding_add(findings, "PFC sent", name, FINDING_UNKNOWN, NULL,
			    "the port took %u frames, and its counter rose by %llu; no other end "
			    "has it where they could come in",
			    sent, (unsigned long long)counted);
	else
		finding_add(findings, "PFC sent", name, FINDING_UNKNOWN, NULL,
			    "the port took %u frames, and its counter rose by %llu; whether they "
			    "reach the wire shows where they come in: give the port at the other "
			    "end of the cable as a second --port, or loop it",
			    sent, (unsigned long long)counted);
	if (taken)
		finding_add(findings, "PFC received", name, FINDING_OK, NULL,
			    "%u frames from %s were passed up", taken,
			    from == number ? "the port itself" : ports[from]->name);
	else
		finding_add(findings, "PFC received", name, FINDING_UNKNOWN, NULL,
			    "none came in; if the other end did send some, the device keeps them "
			    "to itself%s",
			    ports[number]->abilities.flow_control_off
				    ? ", though it was told not to"
				    : ": its driver takes no word on flow control");
}

static void nap(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	nanosleep(&time, NULL);
}

void check_pause(struct findings *findings, struct vl_port *const *ports,
		 struct rte_mempool *const *mempools, unsigned int count)
{
	struct arrivals arrivals = {0};
	uint64_t before[MAX_PORTS], counted;
	unsigned int sent[MAX_PORTS];
	struct vl_port_statistics statistics;

	for (unsigned int i = 0; i < count; i++) {
		vl_port_statistics(ports[i], &statistics);
		before[i] = statistics.tx_frames;
		sent[i] = send_frames(ports[i], mempools[i], i);
	}
	for (unsigned int time = 0; time < PATIENCE_NS; time += LOOK_NS) {
		receive(&arrivals, ports, count);
		nap(LOOK_NS);
	}
	/* Some devices count a while later. */
	nap(SETTLE_NS);
	for (unsigned int i = 0; i < count; i++) {
		vl_port_statistics(ports[i], &statistics);
		counted = statistics.tx_frames - before[i];
		report(findings, ports, count, i, sent[i], counted, &arrivals);
	}
}
