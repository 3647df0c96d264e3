/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Parameters of congestion control in a file: a mapping of names to whole numbers. */
#ifndef VERBLINE_SCENARIO_CC_PARAMETERS_H
#define VERBLINE_SCENARIO_CC_PARAMETERS_H

#include "apps/scenario/schema.h"
#include "transport/cc/cc.h"

/* Sets those that the section gives, if it is given at all. describe: the algorithm's parameters,
 * whose structure parameters is. */
void vl_scenario_read_cc_parameters(struct vl_loader *loader, const struct vl_section *section,
				    const struct vl_cc_description *(*describe)(unsigned int n),
				    void *parameters);

#endif
