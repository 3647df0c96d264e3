/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Configurations of switches as vendors and papers give them for RoCE, each value with where it
 * comes from. What a source leaves open is the emulation's, and says so.
 */
#ifndef VERBLINE_PRESET_PRESET_H
#define VERBLINE_PRESET_PRESET_H

#include "dataplane/fabric/switch.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct vl_preset_value {
	const char *what, *value;
	const char *source; /* an index letter of the preset's sources, or "assumed: ..." */
};

struct vl_preset {
	const char *name, *summary;
	const char *sources; /* lines, each begun by its letter */
	const struct vl_preset_value *values;
	unsigned int value_count;
	const struct preset_parameters *parameters; /* private: parameters.h */
};

extern const struct vl_preset vl_presets[];
extern const unsigned int vl_preset_count;

/* NULL: there is none; then *nearest is the name that may be meant, or NULL. */
const struct vl_preset *vl_preset_find(const char *name, const char **nearest);

/* What is linked to a port. */
struct vl_preset_link {
	uint64_t rate;  /* bit/s */
	uint64_t delay; /* ns, propagation one way */
};

/* A switch with a port for each link; memory 0: the preset's, or by the rates. longest: bytes of
 * the longest frame, for headroom where the source gives none. MAC and seed are the caller's to
 * set. One block of memory, to be freed; NULL: no memory. */
struct vl_switch_config *vl_preset_switch_config(const struct vl_preset *preset,
						 const struct vl_preset_link *links,
						 unsigned int count, uint64_t memory,
						 uint32_t longest);

/* All presets, or one. */
void vl_presets_print(const struct vl_preset *preset, FILE *out);
json_t *vl_presets_json(void); /* NULL: no memory */

#endif
