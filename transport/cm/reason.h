/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Why a peer said no: the reasons of REJ (IBTA volume 1, 12.6.7.2), the status of SIDR_REP
 * (12.11.2.1) and of APR (12.8.2.1). */
#ifndef VERBLINE_CM_REASON_H
#define VERBLINE_CM_REASON_H

#include <stdint.h>

/* X(value, enumerator, meaning) */
#define VL_CM_REJECT_REASONS(X)                                                                    \
	X(1, NO_QP, "no QP available")                                                             \
	X(2, NO_EEC, "no end-to-end context available")                                            \
	X(3, NO_RESOURCES, "no resources available")                                               \
	X(4, TIMEOUT, "timeout")                                                                   \
	X(5, UNSUPPORTED, "unsupported request")                                                   \
	X(6, INVALID_COMM_ID, "invalid communication ID")                                          \
	X(7, INVALID_COMM_INSTANCE, "invalid communication instance")                              \
	X(8, INVALID_SERVICE_ID, "invalid service ID: nobody listens there")                       \
	X(9, INVALID_TRANSPORT_TYPE, "invalid transport service type")                             \
	X(10, STALE_CONNECTION, "stale connection")                                                \
	X(11, RDC_NOT_EXIST, "the reliable datagram channel does not exist")                       \
	X(12, INVALID_GID, "primary remote port GID rejected")                                     \
	X(13, INVALID_LID, "primary remote port LID rejected")                                     \
	X(14, INVALID_SL, "invalid primary SL")                                                    \
	X(15, INVALID_TRAFFIC_CLASS, "invalid primary traffic class")                              \
	X(16, INVALID_HOP_LIMIT, "invalid primary hop limit")                                      \
	X(17, INVALID_PACKET_RATE, "invalid primary packet rate")                                  \
	X(18, INVALID_ALTERNATE_GID, "alternate remote port GID rejected")                         \
	X(19, INVALID_ALTERNATE_LID, "alternate remote port LID rejected")                         \
	X(20, INVALID_ALTERNATE_SL, "invalid alternate SL")                                        \
	X(21, INVALID_ALTERNATE_TRAFFIC_CLASS, "invalid alternate traffic class")                  \
	X(22, INVALID_ALTERNATE_HOP_LIMIT, "invalid alternate hop limit")                          \
	X(23, INVALID_ALTERNATE_PACKET_RATE, "invalid alternate packet rate")                      \
	X(24, PORT_CM_REDIRECT, "port and CM redirection")                                         \
	X(25, PORT_REDIRECT, "port redirection")                                                   \
	X(26, INVALID_MTU, "invalid path MTU")                                                     \
	X(27, INSUFFICIENT_RESPONDER_RESOURCES, "insufficient responder resources")                \
	X(28, CONSUMER, "rejected by the consumer")                                                \
	X(29, INVALID_RNR_RETRY, "RNR retry count rejected")                                       \
	X(30, DUPLICATE_LOCAL_COMM_ID, "duplicate local communication ID")                         \
	X(31, INVALID_CLASS_VERSION, "invalid class version")                                      \
	X(32, INVALID_FLOW_LABEL, "invalid primary flow label")                                    \
	X(33, INVALID_ALTERNATE_FLOW_LABEL, "invalid alternate flow label")                        \
	X(35, VENDOR_OPTION_NOT_SUPPORTED, "vendor option not supported")

#define VL_CM_SIDR_STATUSES(X)                                                                     \
	X(0, VALID, "the QP and Q_Key are valid")                                                  \
	X(1, UNSUPPORTED, "service ID not supported")                                              \
	X(2, REJECT, "rejected by the service provider")                                           \
	X(3, NO_QP, "no QP available")                                                             \
	X(4, REDIRECT, "request should be redirected")                                             \
	X(5, UNSUPPORTED_VERSION, "class version not supported")

#define VL_CM_APR_STATUSES(X)                                                                      \
	X(0, LOADED, "alternate path loaded")                                                      \
	X(1, INVALID_COMM_ID, "invalid communication ID")                                          \
	X(2, UNSUPPORTED, "alternate paths not supported")                                         \
	X(3, REJECT, "rejected")                                                                   \
	X(4, REDIRECT, "port and CM redirection")                                                  \
	X(5, IS_CURRENT, "the proposed path is the current one")                                   \
	X(6, INVALID_QPN_EECN, "QPN or EECN does not match the communication ID")                  \
	X(7, INVALID_LID, "remote LID rejected")                                                   \
	X(8, INVALID_GID, "remote GID rejected")                                                   \
	X(9, INVALID_FLOW_LABEL, "invalid flow label")                                             \
	X(10, INVALID_TRAFFIC_CLASS, "invalid traffic class")                                      \
	X(11, INVALID_HOP_LIMIT, "invalid hop limit")                                              \
	X(12, INVALID_PACKET_RATE, "invalid packet rate")                                          \
	X(13, INVALID_SL, "invalid SL")

enum vl_cm_reject_reason {
#define VL_CM_REASON_VALUE(value, name, meaning) VL_CM_REJECT_##name = value,
	VL_CM_REJECT_REASONS(VL_CM_REASON_VALUE)
#undef VL_CM_REASON_VALUE
};

enum vl_cm_sidr_status {
#define VL_CM_REASON_VALUE(value, name, meaning) VL_CM_SIDR_##name = value,
	VL_CM_SIDR_STATUSES(VL_CM_REASON_VALUE)
#undef VL_CM_REASON_VALUE
};

enum vl_cm_apr_status {
#define VL_CM_REASON_VALUE(value, name, meaning) VL_CM_APR_##name = value,
	VL_CM_APR_STATUSES(VL_CM_REASON_VALUE)
#undef VL_CM_REASON_VALUE
};

/* The meaning of a value, "reserved" for one that the standard does not give. */
const char *vl_cm_reject_reason_meaning(uint16_t reason);
const char *vl_cm_sidr_status_meaning(uint8_t status);
const char *vl_cm_apr_status_meaning(uint8_t status);

#endif
