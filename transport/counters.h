/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The one list of counters (kept per QP and per device) and the one list of drop
 * reasons (per device): name, unit, meaning. Names follow the Open Traffic Generator
 * RoCEv2 model, else the Linux RDMA hw_counters.
 */
#ifndef VERBLINE_COUNTERS_H
#define VERBLINE_COUNTERS_H

#include "transport/counter_field.h"

#include <stdint.h>

#define VL_COUNTERS(X)                                                                             \
	X(data_frames_tx, "frames",                                                                \
	  "request and READ response packets sent, retransmissions included")                      \
	X(data_frames_rx, "frames", "request and READ response packets accepted")                  \
	X(data_bytes_tx, "bytes", "payload of data_frames_tx")                                     \
	X(data_bytes_rx, "bytes", "payload of data_frames_rx")                                     \
	X(data_frames_retransmitted, "frames", "packets sent again")                               \
	X(ecn_ce_rx, "frames", "packets received with ECN CE")                                     \
	X(cnp_tx, "frames", "CNPs sent; CNs on InfiniBand")                                        \
	X(cnp_rx, "frames", "CNPs received for a QP; CNs on InfiniBand")                           \
	X(fecn_rx, "frames", "packets received with FECN, on InfiniBand")                          \
	X(becn_tx, "frames", "ACKs sent with BECN, on InfiniBand")                                 \
	X(becn_rx, "frames", "responses received with BECN, on InfiniBand")                        \
	X(ack_tx, "frames", "ACKs sent")                                                           \
	X(ack_rx, "frames", "ACKs received")                                                       \
	X(nak_tx, "frames", "NAKs sent, RNR excluded")                                             \
	X(nak_rx, "frames", "NAKs received, RNR excluded")                                         \
	X(rnr_nak_tx, "frames", "RNR NAKs sent")                                                   \
	X(rnr_nak_rx, "frames", "RNR NAKs received")                                               \
	X(frame_sequence_error, "frames", "packets received ahead of the expected PSN")            \
	X(duplicate_request, "frames", "requests received behind the expected PSN")                \
	X(implied_nak_seq_err, "events", "responses that implied the loss of an earlier one")      \
	X(local_ack_timeout_err, "events", "local ACK timeouts")                                   \
	X(message_tx, "messages", "send work requests completed with success")                     \
	X(message_rx, "messages", "messages received whole")                                       \
	X(message_fail, "messages", "work requests completed in error")

struct vl_counters {
	VL_COUNTERS(VL_COUNTER_FIELD)
};

#define VL_DROPS(X)                                                                                \
	X(not_parsed, "the bytes are not an InfiniBand transport packet")                          \
	X(icrc, "the ICRC is wrong")                                                               \
	X(vcrc, "the VCRC is wrong")                                                               \
	X(not_for_us, "the destination MAC, IP address, GID or LID is not the device's")           \
	X(unknown_qp, "no QP has the destination QPN")                                             \
	X(qp_state, "the QP's state takes no such packet")                                         \
	X(service, "the opcode is of another transport service than the QP")                       \
	X(version, "the transport version is not 0")                                               \
	X(pkey, "the P_Key does not match")                                                        \
	X(qkey, "the Q_Key does not match")                                                        \
	X(source, "the packet is not from the connected peer's address")                           \
	X(opcode, "the opcode is reserved or not served")                                          \
	X(sequence, "ahead of the expected PSN")                                                   \
	X(duplicate, "behind the expected PSN, and nothing to repeat")                             \
	X(stale_response, "a response to nothing outstanding")                                     \
	X(malformed_response, "a response with a reserved syndrome or wrong length")               \
	X(no_receive, "no receive work request (UC and UD)")                                       \
	X(length, "longer than the receive buffer or the path MTU, or lengths disagree (UC, UD)")  \
	X(access, "key, bounds or permission (UC)")                                                \
	X(message, "part of a message whose earlier packet was lost (UC)")                         \
	X(refused, "follows a packet that was answered with a NAK")                                \
	X(cnp_unknown_qp, "a CNP for no QP of ours")

enum vl_drop {
#define VL_DROP_VALUE(name, meaning) VL_DROP_##name,
	VL_DROPS(VL_DROP_VALUE)
#undef VL_DROP_VALUE
		VL_DROP_COUNT
};

#endif
