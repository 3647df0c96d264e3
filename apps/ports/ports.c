/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/ports/ports.h"

#include "apps/interrupt.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/mempool.h"

#include <errno.h>
#include <string.h>

static const volatile int *interrupted;

void vl_ports_catch_signals(void)
{
	interrupted = vl_catch_interrupts();
}

bool vl_ports_interrupted(void)
{
	return interrupted && *interrupted;
}

uint32_t vl_ports_frame_length(uint16_t mtu)
{
	uint32_t length = (mtu ? mtu : VL_PORT_DEFAULT_MTU) + 14u + 2u * 4u;

	return length < VL_MAX_FRAME_LENGTH ? VL_MAX_FRAME_LENGTH : length;
}

static int start_eal(const struct vl_ports_config *config, struct vl_error *error)
{
	struct vl_eal_config eal = {
		.worker_count = 1,
		.memory_mb = config->more_megabytes +
			     config->names->count * vl_mempool_jumbo_megabytes(
							    config->mbuf_count,
							    vl_ports_frame_length(config->mtu)) +
			     64,
		.ports = (const char *const *)config->names->values,
		.port_count = config->names->count,
		.telemetry = config->telemetry,
		.argument_count = (int)config->operands->eal_count,
		.arguments = config->operands->eal,
	};
	int result;

	result = vl_eal_start(&eal, error);
	if (!result && *vl_eal_notice())
		vl_command_error(config->command, "%s", vl_eal_notice());
	return result;
}

static int open_port(struct vl_ports *ports, const struct vl_ports_config *config,
		     struct vl_error *error)
{
	struct vl_port_config port = {0};
	char name[16];

	snprintf(name, sizeof(name), "port%u", ports->count);
	port.mtu = config->mtu;
	port.mempools[0] = vl_mempool_create_jumbo(name, config->mbuf_count,
						   vl_ports_frame_length(config->mtu), error);
	if (!port.mempools[0])
		return -ENOMEM;
	ports->mempools[ports->count] = port.mempools[0];
	ports->ports[ports->count] =
		vl_port_open(config->names->values[ports->count], &port, error);
	if (!ports->ports[ports->count++])
		return -EINVAL;
	vl_port_watch_add(&ports->watch, ports->ports[ports->count - 1]);
	return 0;
}

int vl_ports_open(struct vl_ports *ports, const struct vl_ports_config *config,
		  struct vl_error *error)
{
	int result;

	memset(ports, 0, sizeof(*ports));
	vl_port_watch_start(&ports->watch, config->command);
	if (!config->names->count)
		return vl_error_set(error, -EINVAL, "--port is missing: --port PORT");
	if (config->names->count > VL_PORTS_MAX)
		return vl_error_set(error, -EINVAL, "--port is given more than %u times",
				    VL_PORTS_MAX);
	result = start_eal(config, error);
	if (result)
		return result;
	while (!result && ports->count < config->names->count)
		result = open_port(ports, config, error);
	if (!result) {
		ports->worker = vl_worker_create(0, error);
		result = ports->worker ? 0 : -ENOMEM;
	}
	if (result)
		vl_ports_close(ports);
	return result;
}

void vl_ports_close_ports(struct vl_ports *ports)
{
	vl_worker_destroy(ports->worker);
	for (uint32_t i = 0; i < ports->count; i++)
		vl_port_close(ports->ports[i]);
	for (uint32_t i = 0; i < ports->count; i++)
		rte_mempool_free(ports->mempools[i]);
	memset(ports, 0, sizeof(*ports));
}

void vl_ports_close(struct vl_ports *ports)
{
	vl_ports_close_ports(ports);
	if (vl_eal_is_running())
		vl_eal_stop();
}
