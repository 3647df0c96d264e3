/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/telemetry.h"

#include "dataplane/runtime/compat.h"

#include <rte_telemetry.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_SECOND INT64_C(1000000000)
/* A control thread that does not serve for so long is stuck, or gone. */
#define PATIENCE UINT64_C(3000000000)

enum question_state {
	QUESTION_NONE,
	QUESTION_ASKED,
	QUESTION_TAKEN, /* the reply is the control thread's */
	QUESTION_ANSWERED,
};

/* One question at a time; askers queue at one_at_a_time. */
static struct {
	pthread_mutex_t one_at_a_time;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t asked, answered;
	const struct vl_telemetry_topic *topics;
	unsigned int count;
	void *context;
	bool is_open;
	enum question_state state;
	const struct vl_telemetry_topic *topic;
	const char *parameters;
	struct rte_tel_data *reply;
	int result;
} telemetry = {
	.one_at_a_time = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.asked = PTHREAD_COND_INITIALIZER,
	.answered = PTHREAD_COND_INITIALIZER,
};

static struct timespec time_after(uint64_t wait)
{
	struct timespec time;
	int64_t ns;

	clock_gettime(CLOCK_REALTIME, &time);
	ns = time.tv_nsec + (int64_t)(wait % (uint64_t)NS_PER_SECOND);
	time.tv_sec += (time_t)(wait / (uint64_t)NS_PER_SECOND) + ns / NS_PER_SECOND;
	time.tv_nsec = ns % NS_PER_SECOND;
	return time;
}

/* ---- The socket's threads -------------------------------------------------------------- */

static const struct vl_telemetry_topic *find_topic(const char *command)
{
	for (unsigned int i = 0; telemetry.is_open && i < telemetry.count; i++) {
		if (!strcmp(telemetry.topics[i].command, command))
			return &telemetry.topics[i];
	}
	return NULL;
}

/* With the lock held. */
static int wait_for_answer(void)
{
	const struct timespec end = time_after(PATIENCE);
	int waited = 0;

	while (telemetry.state == QUESTION_ASKED && telemetry.is_open && !waited)
		waited = pthread_cond_timedwait(&telemetry.answered, &telemetry.lock, &end);
	/* An answer that is being made will be done soon, and writes to what is ours. */
	while (telemetry.state == QUESTION_TAKEN)
		pthread_cond_wait(&telemetry.answered, &telemetry.lock);
	return telemetry.state == QUESTION_ANSWERED ? telemetry.result : -ETIMEDOUT;
}

static int ask(const char *command, const char *parameters, struct rte_tel_data *reply)
{
	int result = -ENODEV;

	pthread_mutex_lock(&telemetry.one_at_a_time);
	pthread_mutex_lock(&telemetry.lock);
	telemetry.topic = find_topic(command);
	if (telemetry.topic) {
		telemetry.parameters = parameters ? parameters : "";
		telemetry.reply = reply;
		telemetry.state = QUESTION_ASKED;
		pthread_cond_signal(&telemetry.asked);
		result = wait_for_answer();
		telemetry.state = QUESTION_NONE;
	}
	pthread_mutex_unlock(&telemetry.lock);
	pthread_mutex_unlock(&telemetry.one_at_a_time);
	return result;
}

/* ---- The control thread ---------------------------------------------------------------- */

int vl_telemetry_open(const struct vl_telemetry_topic *topics, unsigned int count, void *context)
{
	int result = 0;
	bool is_open;

	if (count > VL_TELEMETRY_MAX_TOPICS)
		return -E2BIG;
	pthread_mutex_lock(&telemetry.lock);
	is_open = telemetry.is_open;
	if (!is_open) {
		telemetry.topics = topics;
		telemetry.count = count;
		telemetry.context = context;
		telemetry.is_open = true;
	}
	pthread_mutex_unlock(&telemetry.lock);
	if (is_open)
		return -EBUSY;
	/* Commands stay known to DPDK for good; those of an earlier opening are known already. */
	for (unsigned int i = 0; i < count && !result; i++) {
		result = rte_telemetry_register_cmd(topics[i].command, ask, topics[i].help);
		if (result == -EEXIST)
			result = 0;
	}
	if (result)
		vl_telemetry_close();
	return result;
}

void vl_telemetry_close(void)
{
	pthread_mutex_lock(&telemetry.lock);
	telemetry.is_open = false;
	telemetry.topics = NULL;
	telemetry.count = 0;
	pthread_cond_broadcast(&telemetry.answered);
	pthread_mutex_unlock(&telemetry.lock);
}

/* With the lock held, which is let go of while the topic answers. */
static void answer(void)
{
	const struct vl_telemetry_topic *topic = telemetry.topic;
	int result;

	telemetry.state = QUESTION_TAKEN;
	pthread_mutex_unlock(&telemetry.lock);
	result = topic->answer(telemetry.context, telemetry.parameters,
			       (struct vl_telemetry_reply *)telemetry.reply);
	pthread_mutex_lock(&telemetry.lock);
	telemetry.result = result;
	telemetry.state = QUESTION_ANSWERED;
	pthread_cond_signal(&telemetry.answered);
}

void vl_telemetry_serve(uint64_t wait)
{
	const struct timespec end = time_after(wait);
	int waited = 0;

	pthread_mutex_lock(&telemetry.lock);
	while (wait && !waited && telemetry.state != QUESTION_ASKED)
		waited = pthread_cond_timedwait(&telemetry.asked, &telemetry.lock, &end);
	if (telemetry.state == QUESTION_ASKED)
		answer();
	pthread_mutex_unlock(&telemetry.lock);
}

/* ---- Replies --------------------------------------------------------------------------- */

static struct rte_tel_data *data_of(struct vl_telemetry_reply *reply)
{
	return (struct rte_tel_data *)reply;
}

void vl_telemetry_begin_object(struct vl_telemetry_reply *reply)
{
	rte_tel_data_start_dict(data_of(reply));
}

void vl_telemetry_begin_numbers(struct vl_telemetry_reply *reply)
{
	rte_tel_data_start_array(data_of(reply), VL_COMPAT_TELEMETRY_NUMBERS);
}

void vl_telemetry_begin_texts(struct vl_telemetry_reply *reply)
{
	rte_tel_data_start_array(data_of(reply), RTE_TEL_STRING_VAL);
}

void vl_telemetry_put_number(struct vl_telemetry_reply *reply, const char *name, uint64_t value)
{
	vl_compat_telemetry_put_number(data_of(reply), name, value);
}

void vl_telemetry_put_text(struct vl_telemetry_reply *reply, const char *name, const char *value)
{
	rte_tel_data_add_dict_string(data_of(reply), name, value);
}

void vl_telemetry_add_number(struct vl_telemetry_reply *reply, uint64_t value)
{
	vl_compat_telemetry_add_number(data_of(reply), value);
}

void vl_telemetry_add_text(struct vl_telemetry_reply *reply, const char *value)
{
	rte_tel_data_add_array_string(data_of(reply), value);
}

int vl_telemetry_numbers(const char *parameters, uint64_t *numbers, int count)
{
	const char *at = parameters;
	char *end;
	int found = 0;

	while (*at) {
		if (found == count || *at < '0' || *at > '9')
			return -EINVAL;
		errno = 0;
		numbers[found++] = strtoull(at, &end, 0);
		if (errno || end == at || (*end && *end != ','))
			return -EINVAL;
		at = *end ? end + 1 : end;
	}
	return found;
}
