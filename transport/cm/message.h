/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Messages of communication management, IBTA volume 1, 12.6 to 12.11, as plain structures. Members
 * are named and ordered as in the standard's tables; local and remote are the sender's view.
 * Timeouts are exponents: 4.096 us * 2^t. Narrow fields say their width in bits.
 */
#ifndef VERBLINE_CM_MESSAGE_H
#define VERBLINE_CM_MESSAGE_H

#include "transport/cm/mad.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* X(attribute identifier, enumerator and name, member of struct vl_cm_message, bytes of private
 * data, meaning) */
#define VL_CM_MESSAGES(X)                                                                          \
	X(0x10, REQ, req, 92, "request for communication")                                         \
	X(0x11, MRA, mra, 222, "message receipt acknowledgement")                                  \
	X(0x12, REJ, rej, 148, "reject")                                                           \
	X(0x13, REP, rep, 196, "reply to request")                                                 \
	X(0x14, RTU, rtu, 224, "ready to use")                                                     \
	X(0x15, DREQ, dreq, 220, "request for communication release")                              \
	X(0x16, DREP, drep, 224, "reply to release")                                               \
	X(0x17, SIDR_REQ, sidr_req, 216, "service ID resolution request")                          \
	X(0x18, SIDR_REP, sidr_rep, 136, "service ID resolution response")                         \
	X(0x19, LAP, lap, 168, "load alternate path")                                              \
	X(0x1a, APR, apr, 148, "alternate path response")

enum vl_cm_attribute {
#define VL_CM_VALUE(id, name, member, private_length, meaning) VL_CM_##name = id,
	VL_CM_MESSAGES(VL_CM_VALUE)
#undef VL_CM_VALUE
};

#define VL_CM_MAX_PRIVATE_DATA 224
#define VL_CM_INFO_LENGTH      72

/* Message that an MRA or REJ answers. */
#define VL_CM_ANSWERS_REQ   0
#define VL_CM_ANSWERS_REP   1
#define VL_CM_ANSWERS_OTHER 2 /* MRA: a LAP */

/* REQ transport service type; 3 stands for the extended type, which is 1 for XRC. */
#define VL_CM_TRANSPORT_RC       0
#define VL_CM_TRANSPORT_UC       1
#define VL_CM_TRANSPORT_RD       2
#define VL_CM_TRANSPORT_EXTENDED 3

struct vl_cm_path {
	uint16_t local_lid, remote_lid; /* 0xffff with RoCE */
	union ibv_gid local_gid, remote_gid;
	uint32_t flow_label; /* 20 */
	uint8_t rate;        /* 6: enum ibv_rate */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t service_level; /* 4 */
	bool subnet_local;
	uint8_t ack_timeout; /* 5 */
};

struct vl_cm_req {
	uint32_t local_comm_id;
	uint64_t service_id;
	uint64_t local_ca_guid;
	uint32_t local_qkey;
	uint32_t local_qpn; /* 24 */
	uint8_t responder_resources;
	uint32_t local_eecn; /* 24 */
	uint8_t initiator_depth;
	uint32_t remote_eecn;               /* 24 */
	uint8_t remote_cm_response_timeout; /* 5 */
	uint8_t transport_service_type;     /* 2: VL_CM_TRANSPORT_* */
	bool end_to_end_flow_control;
	uint32_t starting_psn;             /* 24 */
	uint8_t local_cm_response_timeout; /* 5 */
	uint8_t retry_count;               /* 3 */
	uint16_t pkey;
	uint8_t path_mtu; /* 4: enum ibv_mtu */
	bool rdc_exists;
	uint8_t rnr_retry_count; /* 3 */
	uint8_t max_cm_retries;  /* 4 */
	bool srq;
	uint8_t extended_transport_type;      /* 3 */
	struct vl_cm_path primary, alternate; /* alternate: remote_lid 0 and no GID is none */
};

struct vl_cm_mra {
	uint32_t local_comm_id, remote_comm_id;
	uint8_t message_mraed;   /* 2: VL_CM_ANSWERS_* */
	uint8_t service_timeout; /* 5 */
};

struct vl_cm_rej {
	uint32_t local_comm_id, remote_comm_id;
	uint8_t message_rejected; /* 2: VL_CM_ANSWERS_* */
	uint8_t info_length;      /* 7: bytes of info that count */
	uint16_t reason;          /* VL_CM_REJECT_* */
	uint8_t info[VL_CM_INFO_LENGTH];
};

struct vl_cm_rep {
	uint32_t local_comm_id, remote_comm_id;
	uint32_t local_qkey;
	uint32_t local_qpn;    /* 24 */
	uint32_t local_eecn;   /* 24 */
	uint32_t starting_psn; /* 24 */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay;  /* 5 */
	uint8_t failover_accepted; /* 2 */
	bool end_to_end_flow_control;
	uint8_t rnr_retry_count; /* 3 */
	bool srq;
	uint64_t local_ca_guid;
};

struct vl_cm_rtu {
	uint32_t local_comm_id, remote_comm_id;
};

struct vl_cm_dreq {
	uint32_t local_comm_id, remote_comm_id;
	uint32_t remote_qpn_eecn; /* 24 */
};

struct vl_cm_drep {
	uint32_t local_comm_id, remote_comm_id;
};

struct vl_cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
};

struct vl_cm_sidr_rep {
	uint32_t request_id;
	uint8_t status;      /* VL_CM_SIDR_* */
	uint8_t info_length; /* bytes of info that count */
	uint32_t qpn;        /* 24 */
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[VL_CM_INFO_LENGTH];
};

struct vl_cm_lap {
	uint32_t local_comm_id, remote_comm_id;
	uint32_t remote_qpn_eecn;           /* 24 */
	uint8_t remote_cm_response_timeout; /* 5 */
	struct vl_cm_path alternate;
};

struct vl_cm_apr {
	uint32_t local_comm_id, remote_comm_id;
	uint8_t info_length; /* bytes of info that count */
	uint8_t status;      /* VL_CM_APR_* */
	uint8_t info[VL_CM_INFO_LENGTH];
};

struct vl_cm_message {
	uint16_t attribute_id; /* enum vl_cm_attribute: which member of the union */
	uint16_t status;       /* of the MAD header; 0 */
	uint64_t transaction_id;
	union {
		struct vl_cm_req req;
		struct vl_cm_mra mra;
		struct vl_cm_rej rej;
		struct vl_cm_rep rep;
		struct vl_cm_rtu rtu;
		struct vl_cm_dreq dreq;
		struct vl_cm_drep drep;
		struct vl_cm_sidr_req sidr_req;
		struct vl_cm_sidr_rep sidr_rep;
		struct vl_cm_lap lap;
		struct vl_cm_apr apr;
	};
	/* Decoded: all that the message has room for. To be encoded: that much or less, the rest
	 * of the room becomes zero. */
	uint16_t private_data_length;
	uint8_t private_data[VL_CM_MAX_PRIVATE_DATA];
};

#define VL_CM_RESULTS(X)                                                                           \
	X(ok, "decoded")                                                                           \
	X(length, "a management datagram is 256 bytes")                                            \
	X(base_version, "the base version is not 1")                                               \
	X(management_class, "another management class than communication management")              \
	X(class_version, "the class version is not 2")                                             \
	X(method, "the method is not Send")                                                        \
	X(attribute, "no message has this attribute identifier")

enum vl_cm_result {
#define VL_CM_RESULT_VALUE(name, meaning) VL_CM_RESULT_##name,
	VL_CM_RESULTS(VL_CM_RESULT_VALUE)
#undef VL_CM_RESULT_VALUE
		VL_CM_RESULT_COUNT
};

/* Total: any bytes give a message or a named reason. Values are taken as they are, reserved bits
 * are skipped. On failure *message holds what the header says, if there was one. */
enum vl_cm_result vl_cm_decode(struct vl_cm_message *message, const uint8_t *mad, uint32_t length);
/*
 * 0, or with mad untouched and *field (which may be NULL) naming the member: -EINVAL: attribute_id,
 * -EMSGSIZE: private_data_length, -ERANGE: a value wider than its field.
 */
int vl_cm_encode(uint8_t mad[VL_MAD_LENGTH], const struct vl_cm_message *message,
		 const char **field);

const char *vl_cm_result_name(enum vl_cm_result result);
const char *vl_cm_result_meaning(enum vl_cm_result result);
/* "REQ", "request for communication"; NULL: no such message. */
const char *vl_cm_message_name(uint16_t attribute_id);
const char *vl_cm_message_meaning(uint16_t attribute_id);
/* Bytes of private data that the message has room for; 0: no such message. */
uint16_t vl_cm_private_data_room(uint16_t attribute_id);

#endif
