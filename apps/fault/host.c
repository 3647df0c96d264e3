/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/fault/fault.h"

#include <errno.h>

int vl_faults_attach_host(struct vl_faults *faults, struct vl_host *host, uint32_t port_count,
			  uint32_t worker_count, struct vl_error *error)
{
	for (uint32_t port = 0; faults && port < port_count; port++) {
		const struct vl_port *own = vl_host_port(host, port);

		for (uint32_t worker = 0; worker < worker_count; worker++) {
			struct vl_endpoint *endpoint = vl_host_endpoint(host, port, worker);

			if (vl_faults_attach(faults, endpoint, own->link_rate, own))
				return vl_error_set(error, -ENOMEM,
						    "no memory for the faults of port %u", port);
		}
	}
	return 0;
}
