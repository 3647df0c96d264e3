/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* pcap:IN,OUT: frames come from a capture file, and go to another. */
#include "dataplane/port/kind.h"

#include <rte_common.h>
#include <rte_memory.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int check_files(const char *name, const char *in, const char *out, struct vl_error *error)
{
	FILE *file;

	if (*in && access(in, R_OK))
		return vl_error_set(error, -errno, "port %s: cannot read %s: %s", name, in,
				    strerror(errno));
	if (!*out)
		return 0;
	file = fopen(out, "ae");
	if (!file)
		return vl_error_set(error, -errno, "port %s: cannot write %s: %s", name, out,
				    strerror(errno));
	fclose(file);
	return 0;
}

static struct vl_port *open_pcap(const char *name, const char *detail,
				 const struct vl_port_config *config, int *code,
				 struct vl_error *error)
{
	bool is_looped = false;
	const struct vl_port_option options[] = {{.name = "loop", .flag = &is_looped}};
	struct vl_ethdev_plan plan = {
		.name = name,
		.joins_buffers = true,
		.max_queues = 1,
		.rate_is_known = true,
	};
	char in[VL_PORT_DETAIL_LENGTH], *out;
	size_t length;

	*code = vl_port_name_read(name, detail, 1, in, options, RTE_DIM(options), error);
	if (*code)
		return NULL;
	out = strchr(in, ',');
	if (!out || (out == in && !out[1]) || (is_looped && out == in)) {
		*code = vl_error_set(error, -EINVAL,
				     "port %s: write pcap:IN,OUT, pcap:IN, (nothing is kept) or "
				     "pcap:,OUT (nothing comes in)",
				     name);
		return NULL;
	}
	if (!config)
		return NULL;
	*out++ = '\0';
	*code = check_files(name, in, out, error);
	if (*code)
		return NULL;
	plan.mtu = vl_port_wanted_mtu(config);
	length = (size_t)snprintf(plan.devargs, sizeof(plan.devargs), "net_pcap%u",
				  vl_port_next_number());
	if (*in)
		length += (size_t)snprintf(plan.devargs + length, sizeof(plan.devargs) - length,
					   ",rx_pcap=%s%s", in, is_looped ? ",infinite_rx=1" : "");
	if (*out)
		snprintf(plan.devargs + length, sizeof(plan.devargs) - length, ",tx_pcap=%s", out);
	return vl_ethdev_open(&plan, config, error);
}

const struct vl_port_kind vl_port_kind_pcap = {
	.prefix = "pcap:",
	.help = "  pcap:IN,OUT[,loop]           frames come from one capture file and go to "
		"another, which is\n"
		"                               made anew; either may be left out. loop: IN again "
		"and again\n",
	.open = open_pcap,
};
