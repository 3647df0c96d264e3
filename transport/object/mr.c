/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Memory regions and type 2 memory windows: life, keys, and the checks of every access.
 *
 * A key never comes back before its index has gone through all generations. So the structure of
 * a deregistered region is kept with its index until another registration takes both; an index
 * that has used up its generations is left behind for a fresh one, and only after 2^32 keys does
 * a key repeat. (Re-registering or invalidating one region 256 times comes round within it.)
 * That the structures stay until the device is closed also keeps send requests safe that name a
 * region or window which is gone by the time they run.
 */

#include "transport/object/internal.h"

#include <errno.h>
#include <string.h>

#define GENERATIONS 256
#define INDEX_MASK  0xffffffu

#define NEEDS_LOCAL_WRITE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define REGION_ACCESS                                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_HUGETLB | VL_ACCESS_FLUSH_GLOBAL | VL_ACCESS_FLUSH_PERSISTENT |                \
	 IBV_ACCESS_OPTIONAL_RANGE)
#define WINDOW_ACCESS                                                                              \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_ZERO_BASED | VL_ACCESS_FLUSH_GLOBAL | VL_ACCESS_FLUSH_PERSISTENT)

/* ---- Access -------------------------------------------------------------------------------- */

/* What an access of no bytes points at: no key is needed for it, IBTA C9-88. */
static uint8_t no_bytes;

static inline const struct vl_mr *find(struct vl_device *device, uint32_t key)
{
	const struct vl_mr *mr = vl_table_find_often(&device->mrs, key >> 8);

	return mr && mr->key == key && mr->valid ? mr : NULL;
}

static inline uint8_t *within(const struct vl_mr *mr, uint64_t address, uint64_t length)
{
	uint64_t offset = address - mr->iova; /* below iova: beyond any length */

	if (offset > mr->length || length > mr->length - offset)
		return NULL;
	return mr->host + offset;
}

uint8_t *vl_mr_translate(const struct vl_qp *qp, uint32_t key, uint64_t address, uint64_t length,
			 unsigned int access)
{
	const struct vl_mr *mr;

	if (!length)
		return &no_bytes;
	mr = find(qp->device, key);
	if (!mr || mr->pd != qp->pd || access & ~mr->access)
		return NULL;
	if (mr->kind == VL_MR_WINDOW && mr->bound_qp != qp)
		return NULL;
	return within(mr, address, length);
}

uint8_t *vl_mr_translate_local(const struct vl_pd *pd, uint32_t key, uint64_t address,
			       uint64_t length, unsigned int access)
{
	const struct vl_mr *mr;

	if (!length)
		return &no_bytes;
	mr = find(pd->device, key);
	if (!mr || mr->pd != pd || access & ~mr->access || mr->kind != VL_MR_REGION)
		return NULL;
	return within(mr, address, length);
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static void set_key(struct vl_mr *mr, uint32_t key)
{
	mr->key = key;
	if (mr->kind == VL_MR_WINDOW) {
		mr->window.rkey = key;
		mr->window.handle = key >> 8;
	} else {
		mr->ibv.lkey = mr->ibv.rkey = key;
		mr->ibv.handle = key >> 8;
	}
}

static uint32_t next_generation(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

/* Gives the structure the next index that is free. */
static int take_index(struct vl_device *device, struct vl_mr *mr)
{
	uint32_t index = device->next_mr_index;
	int result;

	while (!index || vl_table_find(&device->mrs, index))
		index = (index + 1) & INDEX_MASK;
	result = vl_table_insert(&device->mrs, &device->config.allocator, index, mr);
	if (result)
		return result;
	device->next_mr_index = (index + 1) & INDEX_MASK;
	mr->key = index << 8;
	mr->generations = 1;
	mr->is_chosen_key = false;
	return 0;
}

/* A structure with a key of the device's choice, in no list, still without a kind. */
static struct vl_mr *acquire(struct vl_device *device)
{
	struct vl_mr *mr;

	if (!vl_list_is_empty(&device->retired_mrs)) {
		uint32_t old_index;
		bool had_index;

		mr = VL_CONTAINER(device->retired_mrs.next, struct vl_mr, link);
		old_index = mr->key >> 8;
		had_index = !mr->is_chosen_key;
		if (had_index && mr->generations < GENERATIONS) {
			mr->generations++;
			mr->key = next_generation(mr->key);
		} else {
			if (take_index(device, mr))
				return NULL;
			if (had_index)
				vl_table_remove(&device->mrs, old_index);
		}
		vl_list_remove(&mr->link);
		return mr;
	}
	mr = vl_allocate(device, sizeof(*mr));
	if (mr && take_index(device, mr)) {
		vl_release(device, mr, sizeof(*mr));
		return NULL;
	}
	return mr;
}

/* The same with a key of the caller's choice. */
static struct vl_mr *acquire_with_key(struct vl_device *device, uint32_t key, int *error)
{
	struct vl_mr *mr = vl_table_find(&device->mrs, key >> 8);
	int result = 0;

	if (mr && mr->pd)
		return vl_refuse(error, -EEXIST);
	if (mr) {
		vl_list_remove(&mr->link);
	} else {
		mr = vl_allocate(device, sizeof(*mr));
		result = mr ? vl_table_insert(&device->mrs, &device->config.allocator, key >> 8, mr)
			    : -ENOMEM;
		if (result) {
			vl_release(device, mr, sizeof(*mr));
			return vl_refuse(error, result);
		}
	}
	mr->key = key;
	mr->is_chosen_key = true;
	return mr;
}

static void join_pd(struct vl_mr *mr, struct vl_pd *pd)
{
	mr->pd = pd;
	vl_list_append(&pd->mrs, &mr->link);
	pd->use_count++;
}

static void leave_pd(struct vl_mr *mr)
{
	mr->pd->use_count--;
	vl_list_remove(&mr->link);
	mr->pd = NULL;
}

static void retire(struct vl_mr *mr)
{
	struct vl_device *device = mr->pd->device;

	leave_pd(mr);
	mr->valid = false;
	mr->bound_qp = NULL;
	mr->region = NULL;
	if (mr->is_chosen_key)
		vl_table_remove(&device->mrs, mr->key >> 8);
	device->mr_count--;
	vl_list_append(&device->retired_mrs, &mr->link);
}

/* ---- Regions ------------------------------------------------------------------------------- */

static bool is_access_valid(unsigned int access)
{
	if (access & ~(unsigned int)REGION_ACCESS)
		return false;
	return !(access & NEEDS_LOCAL_WRITE) || access & IBV_ACCESS_LOCAL_WRITE;
}

/* Neither the memory nor its addresses may go round the end of the space. */
static bool is_range_valid(const void *address, size_t length, uint64_t iova)
{
	if (!length)
		return true;
	return address && length - 1 <= UINTPTR_MAX - (uintptr_t)address &&
	       length - 1 <= UINT64_MAX - iova;
}

static void describe(struct vl_mr *mr, void *address, size_t length, uint64_t iova)
{
	mr->host = address;
	mr->length = length;
	mr->iova = iova;
	mr->ibv.addr = address;
	mr->ibv.length = length;
}

static struct ibv_mr *register_region(struct vl_pd *pd, void *address, size_t length, uint64_t iova,
				      unsigned int access, const uint32_t *key, int *error)
{
	struct vl_device *device = pd->device;
	struct vl_mr *mr;
	uint32_t assigned;

	if (access & IBV_ACCESS_ZERO_BASED)
		iova = 0;
	if (!is_access_valid(access) || !is_range_valid(address, length, iova))
		return vl_refuse(error, -EINVAL);
	if (device->mr_count >= device->config.max_mr)
		return vl_refuse(error, -ENOMEM);
	if (key) {
		mr = acquire_with_key(device, *key, error);
		if (!mr)
			return NULL;
	} else {
		mr = acquire(device);
		if (!mr)
			return vl_refuse(error, -ENOMEM);
	}
	assigned = mr->key;
	memset(&mr->ibv, 0, sizeof(mr->ibv));
	mr->kind = VL_MR_REGION;
	mr->window_count = 0;
	mr->access = access;
	mr->ibv.pd = &pd->ibv;
	describe(mr, address, length, iova);
	set_key(mr, assigned);
	mr->valid = true;
	join_pd(mr, pd);
	device->mr_count++;
	return &mr->ibv;
}

struct ibv_mr *vl_reg_mr(struct vl_pd *pd, void *address, size_t length, uint64_t iova,
			 unsigned int access, int *error)
{
	return register_region(pd, address, length, iova, access, NULL, error);
}

struct ibv_mr *vl_reg_mr_with_key(struct vl_pd *pd, void *address, size_t length, uint64_t iova,
				  unsigned int access, uint32_t key, int *error)
{
	return register_region(pd, address, length, iova, access, &key, error);
}

int vl_rereg_mr(struct ibv_mr *ibv, int flags, struct vl_pd *pd, void *address, size_t length,
		unsigned int access)
{
	struct vl_mr *mr = (struct vl_mr *)ibv;
	uint64_t iova;

	if (!flags || flags & ~(int)IBV_REREG_MR_FLAGS_SUPPORTED)
		return -EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_PD && (!pd || pd->device != mr->pd->device))
		return -EINVAL;
	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		access = mr->access;
	if (!is_access_valid(access))
		return -EINVAL;
	/* Turning the zero base on or off without a new translation keeps the addresses. */
	iova = access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)address;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && !is_range_valid(address, length, iova))
		return -EINVAL;
	if (mr->window_count)
		return -EBUSY;

	mr->access = access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		describe(mr, address, length, iova);
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		leave_pd(mr);
		join_pd(mr, pd);
		mr->ibv.pd = &pd->ibv;
	}
	set_key(mr, next_generation(mr->key));
	mr->valid = true;
	return 0;
}

int vl_dereg_mr(struct ibv_mr *ibv)
{
	struct vl_mr *mr = (struct vl_mr *)ibv;

	if (mr->window_count)
		return -EBUSY;
	retire(mr);
	return 0;
}

/* ---- Windows ------------------------------------------------------------------------------- */

static void unbind(struct vl_mr *window)
{
	if (!window->region)
		return;
	window->region->window_count--;
	window->bound_qp->window_count--;
	window->region = NULL;
	window->bound_qp = NULL;
	window->valid = false;
}

struct ibv_mw *vl_alloc_mw(struct vl_pd *pd, enum ibv_mw_type type, int *error)
{
	struct vl_device *device = pd->device;
	struct vl_mr *mr;
	uint32_t key;

	if (type != IBV_MW_TYPE_2)
		return vl_refuse(error, -EOPNOTSUPP);
	if (device->mr_count >= device->config.max_mr)
		return vl_refuse(error, -ENOMEM);
	mr = acquire(device);
	if (!mr)
		return vl_refuse(error, -ENOMEM);
	key = mr->key;
	memset(&mr->ibv, 0, sizeof(mr->ibv));
	mr->kind = VL_MR_WINDOW;
	mr->window_count = 0;
	mr->window.pd = &pd->ibv;
	mr->window.type = type;
	set_key(mr, key);
	join_pd(mr, pd);
	device->mr_count++;
	return &mr->window;
}

int vl_dealloc_mw(struct ibv_mw *mw)
{
	struct vl_mr *window = (struct vl_mr *)mw;

	unbind(window);
	retire(window);
	return 0;
}

/* IBTA 10.6.7.2.2 for type 2B: the window is unbound, the key is a new one of its index, and the
 * region allows binding, lies in the same domain and covers the range. */
int vl_mr_bind_window(const struct vl_qp *qp, struct ibv_mw *mw, uint32_t new_key,
		      const struct ibv_mw_bind_info *info)
{
	struct vl_mr *window = (struct vl_mr *)mw, *region = (struct vl_mr *)info->mr;
	uint8_t *host;

	if (!window || !region || window->kind != VL_MR_WINDOW || region->kind != VL_MR_REGION)
		return -EINVAL;
	if (window->pd != qp->pd || region->pd != qp->pd)
		return -EINVAL;
	if (window->region || !region->valid || !(region->access & IBV_ACCESS_MW_BIND))
		return -EINVAL;
	if (new_key >> 8 != window->key >> 8 || new_key == window->key)
		return -EINVAL;
	if (info->mw_access_flags & ~(unsigned int)WINDOW_ACCESS)
		return -EINVAL;
	if (info->mw_access_flags & NEEDS_LOCAL_WRITE && !(region->access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	host = info->length ? within(region, info->addr, info->length) : NULL;
	if (!host)
		return -EINVAL;

	window->host = host;
	window->length = info->length;
	window->iova = info->mw_access_flags & IBV_ACCESS_ZERO_BASED ? 0 : info->addr;
	window->access = info->mw_access_flags;
	window->region = region;
	window->bound_qp = (struct vl_qp *)qp;
	region->window_count++;
	window->bound_qp->window_count++;
	set_key(window, new_key);
	window->valid = true;
	return 0;
}

int vl_mr_invalidate(const struct vl_qp *qp, uint32_t key, bool remote)
{
	struct vl_mr *mr = (struct vl_mr *)find(qp->device, key);

	if (!mr || mr->pd != qp->pd)
		return -EINVAL;
	if (mr->kind == VL_MR_WINDOW) {
		if (remote && mr->bound_qp != qp)
			return -EINVAL;
		unbind(mr);
		return 0;
	}
	if (!(mr->access & IBV_ACCESS_MW_BIND) || mr->window_count)
		return -EINVAL;
	mr->valid = false;
	set_key(mr, next_generation(key));
	return 0;
}

void vl_mr_unbind_windows(struct vl_qp *qp)
{
	struct vl_link *mrs = &qp->pd->mrs;

	for (struct vl_link *link = mrs->next; link != mrs && qp->window_count; link = link->next) {
		struct vl_mr *mr = VL_CONTAINER(link, struct vl_mr, link);

		if (mr->bound_qp == qp)
			unbind(mr);
	}
}
