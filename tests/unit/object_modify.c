/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The state machine: every transition of every type with every mask bit, against the tables of
 * IBTA 11.2.5.2 written out here a second time, in words. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"
#include "transport/object/object.h"

#define STATES 7
#define BITS   27

static const struct {
	const char *name;
	int bit;
} bits[] = {
	{"cur", IBV_QP_CUR_STATE},
	{"notify", IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{"access", IBV_QP_ACCESS_FLAGS},
	{"pkey", IBV_QP_PKEY_INDEX},
	{"port", IBV_QP_PORT},
	{"qkey", IBV_QP_QKEY},
	{"av", IBV_QP_AV},
	{"mtu", IBV_QP_PATH_MTU},
	{"timeout", IBV_QP_TIMEOUT},
	{"retry", IBV_QP_RETRY_CNT},
	{"rnr", IBV_QP_RNR_RETRY},
	{"rqpsn", IBV_QP_RQ_PSN},
	{"rd", IBV_QP_MAX_QP_RD_ATOMIC},
	{"minrnr", IBV_QP_MIN_RNR_TIMER},
	{"sqpsn", IBV_QP_SQ_PSN},
	{"destrd", IBV_QP_MAX_DEST_RD_ATOMIC},
	{"mig", IBV_QP_PATH_MIG_STATE},
	{"dest", IBV_QP_DEST_QPN},
};

enum { RC, UC, UD, GSI, KINDS };

static const struct rule {
	enum ibv_qp_state from, to;
	const char *required[KINDS], *optional[KINDS];
} rules[] = {
	{IBV_QPS_RESET, IBV_QPS_RESET, {0}, {0}},
	{IBV_QPS_RESET,
	 IBV_QPS_INIT,
	 {"pkey port access", "pkey port access", "pkey port qkey", "pkey qkey"},
	 {0}},
	{IBV_QPS_INIT, IBV_QPS_RESET, {0}, {0}},
	{IBV_QPS_INIT, IBV_QPS_ERR, {0}, {0}},
	{IBV_QPS_INIT,
	 IBV_QPS_INIT,
	 {0},
	 {"pkey port access", "pkey port access", "pkey port qkey", "pkey qkey"}},
	{IBV_QPS_INIT,
	 IBV_QPS_RTR,
	 {"av mtu dest rqpsn destrd minrnr", "av mtu dest rqpsn", "", ""},
	 {"access pkey", "access pkey", "pkey qkey", "pkey qkey"}},
	{IBV_QPS_RTR, IBV_QPS_RESET, {0}, {0}},
	{IBV_QPS_RTR, IBV_QPS_ERR, {0}, {0}},
	{IBV_QPS_RTR,
	 IBV_QPS_RTS,
	 {"timeout retry rnr sqpsn rd", "sqpsn", "sqpsn", "sqpsn"},
	 {"cur access minrnr mig", "cur access mig", "cur qkey", "cur qkey"}},
	{IBV_QPS_RTS, IBV_QPS_RESET, {0}, {0}},
	{IBV_QPS_RTS, IBV_QPS_ERR, {0}, {0}},
	{IBV_QPS_RTS,
	 IBV_QPS_RTS,
	 {0},
	 {"cur access mig minrnr", "cur access mig", "cur qkey", "cur qkey"}},
	{IBV_QPS_RTS, IBV_QPS_SQD, {0}, {"notify", "notify", "notify", "notify"}},
	{IBV_QPS_SQD, IBV_QPS_RESET, {0}, {0}},
	{IBV_QPS_SQD, IBV_QPS_ERR, {0}, {0}},
	{IBV_QPS_SQD,
	 IBV_QPS_RTS,
	 {0},
	 {"cur access minrnr mig", "cur access mig", "cur qkey", "cur qkey"}},
	{IBV_QPS_SQD,
	 IBV_QPS_SQD,
	 {0},
	 {"port av timeout retry rnr rd destrd access pkey minrnr mig", "av access pkey mig",
	  "pkey qkey", "pkey qkey"}},
	{IBV_QPS_SQE, IBV_QPS_RESET, {0}, {0}},
	{IBV_QPS_SQE, IBV_QPS_ERR, {0}, {0}},
	{IBV_QPS_SQE, IBV_QPS_RTS, {0}, {"", "cur access", "cur qkey", "cur qkey"}},
	{IBV_QPS_ERR, IBV_QPS_RESET, {0}, {0}},
	{IBV_QPS_ERR, IBV_QPS_ERR, {0}, {0}},
};

static int parse_mask(const char *words)
{
	int mask = 0;

	for (size_t i = 0; words && i < sizeof(bits) / sizeof(bits[0]); i++) {
		const char *at = words;
		size_t length = strlen(bits[i].name);

		while ((at = strstr(at, bits[i].name))) {
			if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
				mask |= bits[i].bit;
			at += length;
		}
	}
	return mask;
}

static struct endpoint endpoint;

static struct ibv_qp_attr good_attributes(int kind)
{
	struct ibv_qp_attr attr = qp_attr(2, 99, 5, 6);

	if (kind == GSI)
		attr.qkey = 0x80010000;
	return attr;
}

static enum ibv_qp_type type_of(int kind)
{
	return kind == RC ? IBV_QPT_RC : kind == UC ? IBV_QPT_UC : IBV_QPT_UD;
}

static struct vl_qp *make_in_state(int kind, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = good_attributes(kind);
	struct vl_qp_init_attr init = qp_init(&endpoint, type_of(kind));
	struct vl_qp *qp;

	init.gsi = kind == GSI;
	qp = vl_create_qp(endpoint.pd, &init, NULL);
	if (!qp)
		return NULL;
	if (kind == GSI && state >= IBV_QPS_INIT) {
		attr.qp_state = IBV_QPS_INIT;
		CU_ASSERT_EQUAL(
			vl_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_QKEY, 0),
			0);
		for (enum ibv_qp_state to = IBV_QPS_RTR; to <= IBV_QPS_RTS && to <= state; to++) {
			attr.qp_state = to;
			CU_ASSERT_EQUAL(
				vl_modify_qp(qp, &attr,
					     IBV_QP_STATE | (to == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0),
					     0),
				0);
		}
	} else {
		CU_ASSERT_EQUAL(bring_up(qp, type_of(kind), &attr,
					 state > IBV_QPS_RTS ? IBV_QPS_RTS : state),
				0);
	}
	if (state == IBV_QPS_SQD || state == IBV_QPS_ERR)
		CU_ASSERT_EQUAL(set_state(qp, state), 0);
	/* Nothing but a failing request leads here. */
	if (state == IBV_QPS_SQE)
		vl_qp_fail_send_queue(qp);
	CU_ASSERT_EQUAL(vl_qp_state(qp), state);
	return qp;
}

static int attempt(int kind, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct vl_qp *qp = make_in_state(kind, from);
	struct ibv_qp_attr attr = good_attributes(kind);
	int result;

	attr.qp_state = to;
	attr.cur_qp_state = from;
	result = vl_modify_qp(qp, &attr, mask, 0);
	CU_ASSERT_EQUAL(vl_qp_state(qp), result ? from : to);
	vl_destroy_qp(qp);
	return result;
}

static const struct rule *find_rule(int from, int to)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if ((int)rules[i].from == from && (int)rules[i].to == to)
			return &rules[i];
	}
	return NULL;
}

static void check_every_transition_and_bit(void)
{
	unsigned int accepted = 0, refused = 0;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
	for (int n = 0; n < KINDS * STATES * STATES; n++) {
		int kind = n / (STATES * STATES), from = n / STATES % STATES, to = n % STATES;
		const struct rule *rule = find_rule(from, to);
		int required = rule ? parse_mask(rule->required[kind]) : 0;
		int optional = rule ? parse_mask(rule->optional[kind]) : 0;
		int result = attempt(kind, (enum ibv_qp_state)from, (enum ibv_qp_state)to,
				     IBV_QP_STATE | required);

		CU_ASSERT_EQUAL(result, rule ? 0 : -EINVAL);
		if (from == to)
			CU_ASSERT_EQUAL(attempt(kind, (enum ibv_qp_state)from,
						(enum ibv_qp_state)to, required),
					result);
		for (int i = 1; i < BITS; i++) {
			int bit = 1 << i;
			bool fits = rule && optional & bit && !(required & bit);

			result = attempt(kind, (enum ibv_qp_state)from, (enum ibv_qp_state)to,
					 (IBV_QP_STATE | required) ^ bit);
			CU_ASSERT_EQUAL(result, fits ? 0 : -EINVAL);
			accepted += !result;
			refused += result != 0;
		}
	}
	/* The optional bits, counted by hand rule by rule. */
	CU_ASSERT_EQUAL(accepted, 11 + 8 + 11 + 11 + 4 + 11 + 19 + 6);
	CU_ASSERT_EQUAL(accepted + refused, KINDS * STATES * STATES * (BITS - 1));
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
}

static void check_current_state(void)
{
	struct ibv_qp_attr attr = good_attributes(RC);
	struct vl_qp *qp;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
	qp = make_in_state(RC, IBV_QPS_RTS);
	attr.qp_state = IBV_QPS_RTS;
	for (int state = -1; state < 9; state++) {
		attr.cur_qp_state = (enum ibv_qp_state)state;
		CU_ASSERT_EQUAL(vl_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE, 0),
				state == IBV_QPS_RTS ? 0 : -EINVAL);
	}
	for (int state = -1; state < 9; state++) {
		if (state >= 0 && state < STATES)
			continue;
		attr.qp_state = (enum ibv_qp_state)state;
		CU_ASSERT_EQUAL(vl_modify_qp(qp, &attr, IBV_QP_STATE, 0), -EINVAL);
	}
	endpoint_close(&endpoint);
}

static void check_values(void)
{
	struct vl_qp *qp;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
#define TRY(from, to, extra, change, expected)                                                     \
	do {                                                                                       \
		struct ibv_qp_attr attr = good_attributes(RC);                                     \
		const struct rule *rule = find_rule(from, to);                                     \
                                                                                                   \
		qp = make_in_state(RC, from);                                                      \
		attr.qp_state = to;                                                                \
		change;                                                                            \
		CU_ASSERT_EQUAL(                                                                   \
			vl_modify_qp(qp, &attr,                                                    \
				     IBV_QP_STATE | parse_mask(rule->required[RC]) | (extra), 0),  \
			expected);                                                                 \
		CU_ASSERT_EQUAL(vl_qp_state(qp), (expected) ? (from) : (to));                      \
		vl_destroy_qp(qp);                                                                 \
	} while (0)
	TRY(IBV_QPS_RESET, IBV_QPS_INIT, 0, attr.port_num = 2, -EINVAL);
	TRY(IBV_QPS_RESET, IBV_QPS_INIT, 0, attr.pkey_index = 1, -EINVAL);
	TRY(IBV_QPS_RESET, IBV_QPS_INIT, 0, attr.qp_access_flags = IBV_ACCESS_ZERO_BASED, -EINVAL);
	TRY(IBV_QPS_RESET, IBV_QPS_INIT, 0, attr.qp_access_flags = VL_ACCESS_FLUSH_GLOBAL, 0);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.path_mtu = (enum ibv_mtu)0, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.path_mtu = (enum ibv_mtu)6, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.path_mtu = IBV_MTU_4096, 0);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.dest_qp_num = 0x1000000, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.max_dest_rd_atomic = 16, 0);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.max_dest_rd_atomic = 17, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.min_rnr_timer = 32, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.ah_attr.is_global = 0, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.ah_attr.port_num = 0, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.ah_attr.sl = 8, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.ah_attr.grh.sgid_index = 2, -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.ah_attr.grh.flow_label = 0x100000, -EINVAL);
	/* An IPv6 destination from an IPv4 source. */
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0, attr.ah_attr.grh.dgid = ipv6_gid(2), -EINVAL);
	TRY(IBV_QPS_INIT, IBV_QPS_RTR, 0,
	    (attr.ah_attr.grh.dgid = ipv6_gid(2), attr.ah_attr.grh.sgid_index = 1), 0);
	TRY(IBV_QPS_RTR, IBV_QPS_RTS, 0, attr.timeout = 32, -EINVAL);
	TRY(IBV_QPS_RTR, IBV_QPS_RTS, 0, attr.retry_cnt = 8, -EINVAL);
	TRY(IBV_QPS_RTR, IBV_QPS_RTS, 0, attr.rnr_retry = 8, -EINVAL);
	TRY(IBV_QPS_RTR, IBV_QPS_RTS, 0, attr.max_rd_atomic = 17, -EINVAL);
	TRY(IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_PATH_MIG_STATE, attr.path_mig_state = IBV_MIG_ARMED,
	    -EINVAL);
#undef TRY
	endpoint_close(&endpoint);
}

static void check_path_mtu_limit(void)
{
	struct ibv_qp_attr attr = good_attributes(RC);
	struct vl_device_config config;
	struct vl_qp *qp;

	memset(&endpoint, 0, sizeof(endpoint));
	config = endpoint_config(&endpoint, 1);
	config.active_mtu = IBV_MTU_512;
	CU_ASSERT_TRUE_FATAL(endpoint_open_with(&endpoint, &config));
	qp = make_qp(&endpoint, IBV_QPT_RC);
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_RC, &attr, IBV_QPS_RTR), -EINVAL);
	attr.path_mtu = IBV_MTU_512;
	attr.qp_state = IBV_QPS_RTR;
	CU_ASSERT_EQUAL(vl_modify_qp(qp, &attr,
				     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					     IBV_QP_MIN_RNR_TIMER,
				     0),
			0);
	endpoint_close(&endpoint);
}

static void check_query(void)
{
	struct ibv_qp_attr attr = good_attributes(RC), found;
	struct vl_qp_init_attr init;
	struct vl_qp *qp;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
	qp = make_qp(&endpoint, IBV_QPT_RC);
	attr.rq_psn = 0xabcdef12; /* 24 bits of it count */
	attr.sq_psn = 0xff000007;
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
	vl_query_qp(qp, &found, &init);
	CU_ASSERT_EQUAL(found.qp_state, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(found.cur_qp_state, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(found.path_mtu, attr.path_mtu);
	CU_ASSERT_EQUAL(found.rq_psn, 0xcdef12);
	CU_ASSERT_EQUAL(found.sq_psn, 7);
	CU_ASSERT_EQUAL(found.dest_qp_num, 99);
	CU_ASSERT_EQUAL(found.qp_access_flags, attr.qp_access_flags);
	CU_ASSERT_EQUAL(found.max_rd_atomic, 4);
	CU_ASSERT_EQUAL(found.max_dest_rd_atomic, 4);
	CU_ASSERT_EQUAL(found.min_rnr_timer, 12);
	CU_ASSERT_EQUAL(found.timeout, 14);
	CU_ASSERT_EQUAL(found.retry_cnt, 7);
	CU_ASSERT_EQUAL(found.rnr_retry, 7);
	CU_ASSERT_EQUAL(found.cap.max_send_wr, 16);
	CU_ASSERT_EQUAL(found.cap.max_inline_data, 64);
	CU_ASSERT_EQUAL(memcmp(&found.ah_attr, &attr.ah_attr, sizeof(attr.ah_attr)), 0);
	CU_ASSERT_PTR_EQUAL(init.send_cq, endpoint.send_cq);
	CU_ASSERT_EQUAL(init.qpn, vl_qp_number(qp));
	CU_ASSERT_EQUAL(init.qp_type, IBV_QPT_RC);

	CU_ASSERT_EQUAL(set_state(qp, IBV_QPS_SQD), 0);
	vl_query_qp(qp, &found, &init);
	CU_ASSERT_EQUAL(found.sq_draining, 0);

	/* And RESET forgets. */
	CU_ASSERT_EQUAL(set_state(qp, IBV_QPS_RESET), 0);
	vl_query_qp(qp, &found, &init);
	CU_ASSERT_EQUAL(found.dest_qp_num, 0);
	CU_ASSERT_EQUAL(found.sq_psn, 0);
	CU_ASSERT_EQUAL(found.rq_psn, 0);
	CU_ASSERT_EQUAL(found.qp_access_flags, 0);
	attr.sq_psn = 9;
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
	vl_query_qp(qp, &found, &init);
	CU_ASSERT_EQUAL(found.sq_psn, 9);
	endpoint_close(&endpoint);
}

static int refuse_to_resolve(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	(void)context;
	memset(mac, 0x5a, 6);
	return destination->raw[15] == 3 ? -EHOSTUNREACH : 0;
}

static void check_resolution(void)
{
	struct ibv_qp_attr attr;
	struct vl_device_config config;
	uint8_t frame[FRAME_CAPACITY];
	struct vl_qp *qp;
	int error = 0;

	memset(&endpoint, 0, sizeof(endpoint));
	config = endpoint_config(&endpoint, 1);
	config.events.resolve = refuse_to_resolve;
	config.gids[0].vlan_present = true;
	config.gids[0].vlan_id = 0x123;
	CU_ASSERT_TRUE_FATAL(endpoint_open_with(&endpoint, &config));
	qp = make_qp(&endpoint, IBV_QPT_UC);
	attr = qp_attr(3, 99, 0, 0);
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_UC, &attr, IBV_QPS_RTR), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(vl_qp_state(qp), IBV_QPS_INIT);
	CU_ASSERT_PTR_NULL(vl_create_ah(endpoint.pd, &attr.ah_attr, &error));
	CU_ASSERT_EQUAL(error, -EHOSTUNREACH);
	vl_destroy_qp(qp);
	qp = make_qp(&endpoint, IBV_QPT_UC);
	attr = qp_attr(2, 99, 0, 0);
	attr.ah_attr.sl = 5;
	attr.ah_attr.grh.traffic_class = 26 << 2 | 2;
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_UC, &attr, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(post_send(qp, 1, arena_sge(&endpoint, 0, 0)), 0);
	/* Ethernet, tag of priority 5, IPv4, UDP. */
	CU_ASSERT_EQUAL(take_frame(&endpoint, frame, 0), 14 + 4 + 20 + 8 + 12 + 4);
	CU_ASSERT_EQUAL(memcmp(frame, "\x5a\x5a\x5a\x5a\x5a\x5a\x02\0\0\0\0\x01", 12), 0);
	CU_ASSERT_EQUAL(memcmp(frame + 12, "\x81\x00\xa1\x23\x08\x00", 6), 0);
	CU_ASSERT_EQUAL(frame[19], 26 << 2 | 2);
	CU_ASSERT_EQUAL(memcmp(frame + 30, "\x0a\0\0\x01\x0a\0\0\x02", 8), 0);
	endpoint_close(&endpoint);
}

/* UDP source ports by the flow label, by the QPNs, and as chosen; see the wire tests for where
 * these numbers come from. */
static void check_udp_source_port(void)
{
	static const struct {
		uint32_t flow_label;
		uint16_t chosen, expected;
	} cases[] = {
		{0x4000, 0, 0xc001},
		{0xfffff, 0, 0xffc0},
		{0, 0, 0xc132}, /* of QPNs 0x11 and 0x12 */
		{0x4000, 0xd00d, 0xd00d},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_qp_attr attr = qp_attr(2, 0x12, 0, 0);
		uint8_t frame[FRAME_CAPACITY];
		struct vl_qp *qp;

		CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
		qp = make_qp(&endpoint, IBV_QPT_UC);
		CU_ASSERT_EQUAL(vl_qp_number(qp), 0x11);
		attr.ah_attr.grh.flow_label = cases[i].flow_label;
		CU_ASSERT_EQUAL(vl_set_udp_source_port(qp, 0xbfff), -EINVAL);
		if (cases[i].chosen)
			CU_ASSERT_EQUAL(vl_set_udp_source_port(qp, cases[i].chosen), 0);
		CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_UC, &attr, IBV_QPS_RTS), 0);
		CU_ASSERT_EQUAL(post_send(qp, 1, arena_sge(&endpoint, 0, 4)), 0);
		CU_ASSERT_TRUE(take_frame(&endpoint, frame, 0) > 0);
		CU_ASSERT_EQUAL(frame[34] << 8 | frame[35], cases[i].expected);
		CU_ASSERT_EQUAL(vl_set_udp_source_port(qp, 0xc0de), 0);
		CU_ASSERT_EQUAL(post_send(qp, 1, arena_sge(&endpoint, 0, 4)), 0);
		CU_ASSERT_TRUE(take_frame(&endpoint, frame, 0) > 0);
		CU_ASSERT_EQUAL(frame[34] << 8 | frame[35], 0xc0de);
		endpoint_close(&endpoint);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"every_transition_and_bit", check_every_transition_and_bit},
		{"current_state", check_current_state},
		{"values", check_values},
		{"path_mtu_limit", check_path_mtu_limit},
		{"query", check_query},
		{"resolution", check_resolution},
		{"udp_source_port", check_udp_source_port},
	};

	return RUN_SUITE("object_modify", tests, argc, argv);
}
