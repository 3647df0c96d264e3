/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* InfiniBand's nodes of a network. */

#include "dataplane/network_private.h"

#include <errno.h>

struct vl_node *vl_network_add_channel_adapter(struct vl_network *network,
					       const struct vl_channel_adapter_config *config)
{
	const char *name = config->endpoint.name ? config->endpoint.name : "channel adapter";
	const char *problem = vl_channel_adapter_config_error(config);
	struct vl_node *node;
	int error = 0;

	if (problem) {
		vl_network_fail(network, -EINVAL, "channel adapter %s: %s", name, problem);
		return NULL;
	}
	node = vl_network_make_node(network, VL_NODE_CHANNEL_ADAPTER, name, 1);
	if (!node)
		return NULL;
	node->adapter = vl_channel_adapter_create(config, &network->pool.pool, &error);
	if (!node->adapter) {
		vl_network_fail(network, error, "channel adapter %s: %s", name,
				error == -ENOMEM
					? "no memory"
					: "its rate or its device's configuration is out of range");
		vl_network_destroy_node(node);
		return NULL;
	}
	node->endpoint = vl_channel_adapter_endpoint(node->adapter);
	vl_network_add_node(network, node);
	return node;
}

struct vl_node *vl_network_add_infiniband_switch(struct vl_network *network, const char *name,
						 const struct vl_infiniband_switch_config *config)
{
	const char *problem = vl_infiniband_switch_config_error(config);
	struct vl_node *node;

	if (problem) {
		vl_network_fail(network, -EINVAL, "switch %s: %s", name, problem);
		return NULL;
	}
	node = vl_network_make_node(network, VL_NODE_INFINIBAND_SWITCH, name, config->ports);
	if (!node)
		return NULL;
	node->infiniband_switch = vl_infiniband_switch_create(config, &network->pool.pool, NULL);
	if (!node->infiniband_switch) {
		vl_network_fail(network, -ENOMEM, "no memory for switch %s", name);
		vl_network_destroy_node(node);
		return NULL;
	}
	vl_network_add_node(network, node);
	return node;
}
