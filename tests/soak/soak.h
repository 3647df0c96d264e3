/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The endpoint of the soak, its honest peer and its hostile one. */
#ifndef VERBLINE_TESTS_SOAK_H
#define VERBLINE_TESTS_SOAK_H

#include "apps/endpoint/instance.h"
#include "dataplane/network.h"
#include "tests/soak/hostile.h"
#include "tests/support/hosts.h"

#define VICTIM       1u
#define HONEST       2u
#define ATTACKER     3u
#define HONEST_QPS   8u
#define ATTACKED_QPS 6u
#define SLOT         8192u /* of an honest queue pair */
#define GRANTED      4096u /* to the attacker */
#define GUARD        4096u

struct honest {
	struct vl_qp *ours, *theirs; /* at the honest host, and at the victim */
	uint64_t rounds, rounds_before;
	uint8_t *memory; /* what is written, and what was read, a slot each */
	bool is_writing;
};

struct attacked {
	struct vl_qp *qp;
	enum ibv_qp_type type;
	uint64_t born;
};

struct soak {
	struct vl_network *network;
	struct vl_node *victim_node, *honest_node;
	struct vl_endpoint *victim, *honest_endpoint;
	struct vl_instance *instance;
	struct vl_random random;

	struct vl_cq *honest_cq, *victim_cq, *attacked_cq;
	struct vl_pd *honest_pd, *victim_pd, *attacked_pd;
	struct ibv_mr *honest_mr, *victim_mr, *attacked_mr, *private_mr;
	uint8_t *honest_memory;
	uint8_t *victim_memory;   /* guard, slots of the honest, guard */
	uint8_t *attacked_memory; /* guard, granted, guard */
	uint8_t *private_memory;  /* registered for nobody else */
	struct honest honest[HONEST_QPS];
	struct attacked attacked[ATTACKED_QPS];

	uint64_t sent[HOSTILE_KIND_COUNT], injected;
	uint64_t refused; /* neither dropped nor taken */
	uint64_t reborn;
	int64_t memory_in_use, memory_warm;
	uint64_t checks;
	int failures;
};

void fail(struct soak *soak, const char *what, uint64_t found, uint64_t expected);

/* ---- victim.c -------------------------------------------------------------------------------- */

bool open_victim(struct soak *soak);
/* After the network is gone. */
void free_victim_memory(struct soak *soak);
/* No byte outside of granted memory has changed. */
void check_memory(struct soak *soak);
struct vl_qp *make_qp(struct vl_pd *pd, struct vl_cq *cq, enum ibv_qp_type type);
struct host_path path_to(uint16_t host, uint32_t qpn, uint32_t psn);

/* ---- honest.c -------------------------------------------------------------------------------- */

bool open_honest(struct soak *soak);
/* Connects all queue pairs, and begins. */
bool start_honest(struct soak *soak);
void check_progress(struct soak *soak);

/* ---- attacked.c ------------------------------------------------------------------------------ */

bool open_attacked(struct soak *soak);
/* Broken queue pairs go, and so does one now and then that is not. */
void tend_attacked(struct soak *soak);

/* ---- attack.c -------------------------------------------------------------------------------- */

/* Some frames; each must be accepted, answered or dropped, and be counted so. */
void attack(struct soak *soak);
/* Those that are counted nowhere else were answered with a NAK. */
void check_refused(struct soak *soak);

#endif
