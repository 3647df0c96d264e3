/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* End-to-end credits in the AETH: a five-bit code for a number of receive work requests. IBTA
 * 9.7.7.2, table 45 (values as in the Linux rdmavt driver). */
#ifndef VERBLINE_CREDIT_H
#define VERBLINE_CREDIT_H

#include <stdint.h>

#define VL_CREDIT_UNLIMITED 31

/* The largest code whose credits do not exceed count. */
uint8_t vl_credit_encode(uint32_t count);
/* Credits of a code, 0 to 30. */
uint32_t vl_credit_decode(uint8_t code);

/* RNR timer codes, IBTA table 46: nanoseconds of a five-bit code. */
uint64_t vl_rnr_timer_ns(uint8_t code);
/* Local ACK timeout, IBTA 9.7.6.1.3: 4.096 us * 2^exponent; 0 for exponent 0 (no timeout). */
static inline uint64_t vl_ack_timeout_ns(uint8_t exponent)
{
	return exponent ? UINT64_C(4096) << (exponent & 31) : 0;
}

#endif
