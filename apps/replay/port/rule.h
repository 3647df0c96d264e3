/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Rules by which recorded frames are rewritten before they are sent:
 *
 *	FIELD=NEW        whatever it was
 *	FIELD=OLD,NEW    where it was OLD
 *	FIELD=+N, =-N    a number, more or less, around the end of its range
 *	FIELD=none       vlan only: takes the tag away
 */
#ifndef VERBLINE_REPLAY_PORT_RULE_H
#define VERBLINE_REPLAY_PORT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, kind, bits of a number, meaning */
#define REWRITE_FIELDS(X)                                                                          \
	X(src_mac, "src-mac", MAC, 48, "source MAC address")                                       \
	X(dst_mac, "dst-mac", MAC, 48, "destination MAC address")                                  \
	X(mac, "mac", MAC, 48, "either MAC address")                                               \
	X(vlan, "vlan", NUMBER, 12, "VLAN of the outer tag, which is put in if there is none")     \
	X(pcp, "pcp", NUMBER, 3, "priority in the outer VLAN tag")                                 \
	X(src_ip, "src-ip", IP, 128, "source address, IPv4 or IPv6")                               \
	X(dst_ip, "dst-ip", IP, 128, "destination address")                                        \
	X(ip, "ip", IP, 128, "either address")                                                     \
	X(dscp, "dscp", NUMBER, 6, "DSCP")                                                         \
	X(ecn, "ecn", NUMBER, 2, "ECN codepoint: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE")             \
	X(src_port, "src-port", NUMBER, 16, "UDP source port")                                     \
	X(dst_port, "dst-port", NUMBER, 16, "UDP destination port")                                \
	X(pkey, "pkey", NUMBER, 16, "P_Key")                                                       \
	X(qpn, "qpn", NUMBER, 24, "destination QP number")                                         \
	X(psn, "psn", NUMBER, 24, "packet sequence number")                                        \
	X(qkey, "qkey", NUMBER, 32, "Q_Key of datagrams")                                          \
	X(src_qpn, "src-qpn", NUMBER, 24, "source QP number of datagrams")                         \
	X(rkey, "rkey", NUMBER, 32, "key of READ, WRITE, atomic and invalidating requests")        \
	X(address, "address", NUMBER, 64, "remote virtual address of these")

enum rewrite_field {
#define REWRITE_FIELD_VALUE(name, text, kind, bits, meaning) REWRITE_##name,
	REWRITE_FIELDS(REWRITE_FIELD_VALUE)
#undef REWRITE_FIELD_VALUE
		REWRITE_FIELD_COUNT
};

enum rewrite_kind {
	REWRITE_KIND_MAC,    /* bytes[0..5] */
	REWRITE_KIND_IP,     /* length 4 or 16, bytes */
	REWRITE_KIND_NUMBER, /* number */
};

struct rewrite_value {
	uint8_t length; /* of bytes; 0 for a number */
	uint8_t bytes[16];
	uint64_t number;
};

enum rewrite_action {
	REWRITE_SET,
	REWRITE_ADD, /* value.number, modulo the field's range */
	REWRITE_REMOVE,
};

struct rewrite_rule {
	enum rewrite_field field;
	enum rewrite_action action;
	bool has_old;
	struct rewrite_value old, value;
	uint64_t used; /* times it has applied */
};

#define REWRITE_MAX_RULES 64

struct rewrite_rules {
	unsigned int count;
	struct rewrite_rule list[REWRITE_MAX_RULES];
	/* Per field, so that a frame costs nothing for fields without rules. */
	bool has[REWRITE_FIELD_COUNT];
};

/* Adds one rule. 0 or -EINVAL: error says what is wrong and what would be right. */
int rewrite_rule_add(struct rewrite_rules *rules, const char *text, char *error, size_t error_size);
const char *rewrite_field_name(enum rewrite_field field);
/* The value of a number field after the first rule that applies. True: there is one. */
bool rewrite_number(struct rewrite_rules *rules, enum rewrite_field field, uint64_t *number);
/* The same of an address; field, or else either (as ip for src_ip), of length bytes. */
bool rewrite_bytes(struct rewrite_rules *rules, enum rewrite_field field, enum rewrite_field either,
		   uint8_t *bytes, uint8_t length);

#endif
