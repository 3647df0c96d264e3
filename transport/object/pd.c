/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Protection domains. */

#include "transport/object/internal.h"

#include <errno.h>

struct vl_pd *vl_alloc_pd(struct vl_device *device, int *error)
{
	struct vl_pd *pd = vl_allocate(device, sizeof(*pd));

	if (!pd)
		return vl_refuse(error, -ENOMEM);
	pd->device = device;
	device->pd_count++;
	vl_list_init(&pd->mrs);
	vl_list_init(&pd->ahs);
	vl_list_init(&pd->qps);
	vl_list_init(&pd->srqs);
	vl_list_append(&device->pds, &pd->link);
	return pd;
}

int vl_dealloc_pd(struct vl_pd *pd)
{
	struct vl_device *device = pd->device;

	if (pd->use_count)
		return -EBUSY;
	vl_list_remove(&pd->link);
	device->pd_count--;
	vl_release(device, pd, sizeof(*pd));
	return 0;
}
