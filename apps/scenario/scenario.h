/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A scenario: endpoints, switches and the links between them, the flows that cross them, the
 * congestion control, and what is to be written out. Read from YAML by the tables in fields.c,
 * checked as a whole by check.c; what is handed out is free of contradictions and of names that
 * lead nowhere.
 */
#ifndef VERBLINE_SCENARIO_H
#define VERBLINE_SCENARIO_H

#include "apps/option.h"
#include "apps/scenario/compare.h"
#include "apps/scenario/infiniband.h"
#include "apps/scenario/names.h"
#include "apps/scenario/schema.h"
#include "apps/scenario/storm.h"
#include "apps/scenario/switch.h"
#include "apps/scenario/workload.h"
#include "dataplane/fabric/switch.h"
#include "dataplane/flow.h"
#include "transport/cc/cc.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_SCENARIO_MAX_NODES     2048u /* endpoints and switches */
#define VL_SCENARIO_MAX_QPS       65536u
#define VL_SCENARIO_MAX_FILE_SIZE (1u << 20)
#define VL_SCENARIO_CNP_PRIORITY  6u
/* Assured forwarding code points, whose upper three bits a switch takes for the class. */
#define VL_SCENARIO_DSCP(priority) ((uint8_t)((priority)*8 + 2))

struct vl_scenario_cc {
	struct vl_section section;
	unsigned int algorithm; /* as vl_cc_name numbers them */
	unsigned int profile;
	uint64_t rate;         /* bit/s, of algorithm fixed */
	uint64_t initial_rate; /* bit/s; 0: the line rate */
	struct vl_section parameters;
	struct vl_cc_parameters resolved;
};

struct vl_scenario_endpoints {
	struct vl_section section;
	const char *name; /* of the one; of several, followed by 1, 2, ... */
	uint64_t count;
	unsigned int first_node;
};

/* What the scenario runs over, whatever it was written for. */
enum vl_scenario_fabric {
	VL_SCENARIO_AS_CONFIGURED,
	VL_SCENARIO_INFINIBAND,
	VL_SCENARIO_INFINIBAND_CONGESTION_CONTROL,
	VL_SCENARIO_PFC,
	VL_SCENARIO_DCQCN,
	VL_SCENARIO_PFC_DCQCN,
	VL_SCENARIO_LOSSY, /* neither pauses nor senders that slow down */
};

/* How Ethernet switches find their ways. */
enum vl_scenario_routing {
	VL_SCENARIO_SHORTEST, /* each flow takes one of all equally short ways */
	VL_SCENARIO_UP_DOWN,  /* one way, and never up again after down */
};

struct vl_scenario_links {
	struct vl_section section;
	const char *from, *to; /* an endpoint, a group of endpoints, or a switch */
	const char *link;      /* "800g osfp dr8 120 m"; NULL: given by rate and delay */
	uint64_t rate;         /* bit/s */
	uint64_t delay;        /* ns, propagation */
	double loss, duplicate, reorder, corrupt, mark;
	uint64_t jitter; /* ns */
};

/* Endpoints, switches and links made by a rule (dataplane/fabric/topology.h) instead of listed. */
struct vl_scenario_topology {
	struct vl_section section;
	unsigned int kind; /* enum vl_topology_kind */
	uint64_t endpoints;
	uint64_t switches;       /* of a parking lot, of a ring */
	uint64_t leaves, spines; /* of leaf-spine and of rails */
	uint64_t radix;          /* ports of each switch of a fat tree */
	uint64_t rails;          /* endpoints of a server, each on a rail of its own */
	/* Of endpoints to switches, of these to the next tier, of that to the topmost. */
	struct vl_scenario_links link, uplink, core_link;
};

struct vl_scenario_flow {
	struct vl_section section;
	const char *name;
	const char *from, *to;  /* an endpoint or a group: each of from to each of to */
	unsigned int transport; /* enum vl_scenario_transport */
	unsigned int verb;      /* enum vl_flow_verb */
	uint64_t size;          /* bytes of a message */
	uint64_t messages;      /* of each QP; 0: until the end */
	uint64_t duration;      /* ns from start; 0: until the end */
	uint64_t start;         /* ns */
	uint64_t stagger;       /* ns */
	uint64_t qps;           /* of each pair of endpoints */
	uint64_t depth;         /* outstanding messages of a QP */
	uint64_t rate;          /* bit/s of payload offered by each QP; 0: as fast as it goes */
	uint64_t priority;
	uint64_t dscp;             /* VL_AUTOMATIC: by the priority */
	uint64_t timeout, retries; /* as in the verbs */
	struct vl_scenario_cc cc;
	bool has_cc;
};

enum vl_scenario_transport {
	VL_SCENARIO_RC,
	VL_SCENARIO_UC,
	VL_SCENARIO_UD,
};

struct vl_scenario_outputs {
	struct vl_section section;
	const char *json, *pcap, *pcap_at, *histogram;
};

/* A node after groups have been spelled out: endpoints first, then switches. */
struct vl_scenario_node {
	const char *name;
	const struct vl_scenario_switch *sw; /* NULL: an endpoint */
	unsigned int ports;
	unsigned int first_port; /* in the scenario's ports */
	uint64_t rate;           /* bit/s, of an endpoint's link */
};

/* A link between two nodes. */
struct vl_scenario_cable {
	unsigned int a, b, port_a, port_b;
	const struct vl_scenario_links *links;
};

/* An end of a cable, and what is at the other. */
struct vl_scenario_port {
	const struct vl_scenario_cable *cable;
	unsigned int neighbour, neighbour_port;
};

/* A flow between two endpoints: flow->qps queue pairs. */
struct vl_scenario_pair {
	unsigned int from, to; /* nodes */
	uint64_t start;        /* ns */
	const struct vl_scenario_flow *flow;
	bool crosses_bottleneck; /* its data does */
};

struct vl_scenario {
	struct vl_section section;
	const char *name, *teaches;
	uint64_t seed;
	uint64_t duration;        /* ns, of the whole run */
	uint64_t warm_up;         /* ns, not part of the results */
	uint64_t sample_interval; /* ns, of the time series */
	unsigned int path_mtu;    /* an index: 256 << path_mtu bytes */
	unsigned int fabric;      /* enum vl_scenario_fabric */
	unsigned int routing;     /* enum vl_scenario_routing */
	struct vl_scenario_cc cc;
	struct vl_scenario_topology topology;
	struct vl_scenario_infiniband infiniband;
	struct vl_scenario_switch sw; /* what every switch starts from */
	struct vl_list endpoints;     /* struct vl_scenario_endpoints */
	struct vl_list switches;      /* struct vl_scenario_switch */
	struct vl_list links;         /* struct vl_scenario_links */
	struct vl_list flows;         /* struct vl_scenario_flow */
	struct vl_list workloads;     /* struct vl_scenario_workload */
	struct vl_list storms;        /* struct vl_scenario_storm */
	struct vl_scenario_compare compare;
	struct vl_scenario_outputs outputs;

	/* Worked out by check.c */
	struct vl_scenario_node *nodes;
	struct vl_scenario_cable *cables;
	struct vl_scenario_port *ports; /* by node and port: two for each cable */
	struct vl_scenario_pair *pairs;
	struct vl_scenario_names names;
	/* Of the nodes from endpoint_count on, in their order. */
	struct vl_scenario_switch *built_switches;
	unsigned int node_count, endpoint_count, cable_count, pair_count, qp_count;
	/* The port that is asked for most: of a switch, or of an endpoint whose line is asked for
	 * more than any switch's. */
	struct {
		unsigned int node, port;
		unsigned int alike; /* ports that are asked for as much, this one too */
	} bottleneck;
	uint8_t dscps[8]; /* of packets, by priority */
	struct vl_scenario_source *sources;
	/* What switches with a preset or a file cannot do here, or have to assume; NULL: none has.
	 */
	struct vl_db_notes *notes;
	struct vl_arena arena;
};

extern const struct vl_schema vl_scenario_schema, vl_scenario_flow_schema, vl_scenario_cc_schema,
	vl_scenario_link_schema, vl_scenario_tier_schema, vl_scenario_topology_schema;

const char *vl_scenario_fabric_name(unsigned int fabric);

static inline bool vl_scenario_is_infiniband(const struct vl_scenario *scenario)
{
	return scenario->fabric == VL_SCENARIO_INFINIBAND ||
	       scenario->fabric == VL_SCENARIO_INFINIBAND_CONGESTION_CONTROL;
}

static inline uint32_t vl_scenario_mtu(const struct vl_scenario *scenario)
{
	return 256u << scenario->path_mtu;
}

static inline const struct vl_scenario_port *vl_scenario_port(const struct vl_scenario *scenario,
							      unsigned int node, unsigned int port)
{
	return &scenario->ports[scenario->nodes[node].first_port + port];
}

/* Reads, overrides ("path=value") and checks. NULL: problems holds why. overrides may be NULL. */
struct vl_scenario *vl_scenario_parse(const char *text, size_t length,
				      const struct vl_texts *overrides,
				      struct vl_problems *problems);
void vl_scenario_free(struct vl_scenario *scenario); /* NULL is fine */

/* Reads a file of at most VL_SCENARIO_MAX_FILE_SIZE bytes; NULL: error says why. To be freed. */
char *vl_scenario_read_file(const char *path, size_t *length, char *error, size_t error_size);

/* The node with that name; UINT32_MAX: there is none, or several. */
unsigned int vl_scenario_find_node(const struct vl_scenario *scenario, const char *name);

/* The same with a port: NODE (of one port), NODE:NEIGHBOUR or NODE:NUMBER. -EINVAL: error says
 * why. */
int vl_scenario_find_port(const struct vl_scenario *scenario, const char *text, unsigned int *node,
			  unsigned int *port, char *error, size_t error_size);
/* Priorities of messages, bit n for priority n. */
uint8_t vl_scenario_data_priorities(const struct vl_scenario *scenario);

/* check.c: works out cc->resolved. */
void vl_scenario_check_cc(struct vl_loader *loader, struct vl_scenario_cc *cc);
/* check.c: completes *scenario; problems are added through the loader. */
void vl_scenario_check(struct vl_loader *loader, struct vl_scenario *scenario);
/* topology.c: spells out groups, joins the links; false if names or links do not hold up. */
bool vl_scenario_build_topology(struct vl_loader *loader, struct vl_scenario *scenario);
/* made_topology.c: nodes and cables by scenario->topology; false: they are not there. */
bool vl_scenario_make_topology(struct vl_loader *loader, struct vl_scenario *scenario);
/* topology.c: a cable between the next ports of two nodes. */
void vl_scenario_join(struct vl_scenario *scenario, const struct vl_scenario_links *links,
		      unsigned int a, unsigned int b);
/* fabric.c: has_ecn and has_pfc of the built switches, and the algorithms of flows, by the fabric.
 */
void vl_scenario_apply_fabric(struct vl_scenario *scenario);
/* hops.c: hops from a node to each, by node; VL_SCENARIO_FAR: there is no way. Endpoints do not
 * forward. order: all that are reached, the nearest first. Both of node_count. Returns how many are
 * reached. */
#define VL_SCENARIO_FAR UINT32_MAX
unsigned int vl_scenario_measure_hops(const struct vl_scenario *scenario, unsigned int start,
				      unsigned int *hops, unsigned int *order);
/* bottleneck.c: false: no memory. */
bool vl_scenario_find_bottleneck(struct vl_arena *arena, struct vl_scenario *scenario);

/* Ready scenarios, embedded at build time; the first is the default. */
struct vl_ready_scenario {
	const char *name, *text;
};
extern const struct vl_ready_scenario vl_ready_scenarios[];
extern const unsigned int vl_ready_scenario_count;

#endif
