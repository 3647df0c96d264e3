/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Rules by which a NIC brings RoCEv2 packets to a queue by their destination QPN. */
#ifndef VERBLINE_PORT_FLOW_RULE_H
#define VERBLINE_PORT_FLOW_RULE_H

#include "dataplane/runtime/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Asks the device to check such a rule, without making it. It must have been started. */
bool vl_flow_rule_qpn_is_possible(uint16_t device);
/* Makes one for IPv4 and one for IPv6; they go when the device is closed. As vl_port_steer_qpn. */
int vl_flow_rule_qpn(uint16_t device, const char *name, uint32_t qpn, uint32_t mask, uint16_t queue,
		     struct vl_error *error);

#endif
