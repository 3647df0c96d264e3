/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Live: a host whose two ports are the ends of one cable, with services on one and clients on the
 * other. Connections by the thousand, opened and closed and held at once, on one worker and on two.
 */

#include "apps/endpoint/instance.h"
#include "dataplane/runtime/host.h"
#include "tests/vdev/support.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_WORKERS 2u

static union ibv_gid address(uint8_t port)
{
	return (union ibv_gid){.raw = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(port + 1)}};
}

struct scene {
	struct vl_host *host;
	uint32_t workers;
	struct vl_instance *instances[2][MAX_WORKERS]; /* 0: clients, 1: servers */
};

static void open_scene(struct scene *scene, uint32_t workers,
		       const struct vl_instance_client *client)
{
	struct vl_host_config config = {.worker_count = workers, .port_count = 2};
	struct vl_port *ends[2];
	struct vl_error error;
	int status = 0;

	memset(scene, 0, sizeof(*scene));
	scene->workers = workers;
	CU_ASSERT_EQUAL_FATAL(vl_ring_link_open("cable", (uint16_t)workers, 2048, ends, &error), 0);
	for (uint8_t i = 0; i < 2; i++) {
		config.ports[i].port = ends[i];
		config.ports[i].ip.address_count = 1;
		config.ports[i].ip.addresses[0].address = address(i);
		config.ports[i].ip.addresses[0].prefix_length = 24;
	}
	scene->host = vl_host_create(&config, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scene->host);
	for (uint32_t port = 0; port < 2; port++) {
		for (uint32_t worker = 0; worker < workers; worker++) {
			struct vl_instance_client share = *client;
			struct vl_instance_config instance = {
				.seed = 1 + port * workers + worker,
				.worker = (uint8_t)worker,
				.services = port ? 1u << VL_INSTANCE_RPING : 0,
				.quiet = true,
				.client = port ? NULL : &share,
			};

			share.connections = client->connections / workers;
			scene->instances[port][worker] =
				vl_instance_open(vl_host_endpoint(scene->host, port, worker),
						 &instance, vl_host_now(scene->host), &status);
			CU_ASSERT_PTR_NOT_NULL_FATAL(scene->instances[port][worker]);
		}
	}
	CU_ASSERT_EQUAL_FATAL(vl_host_start(scene->host, &error), 0);
}

static void close_scene(struct scene *scene)
{
	vl_host_stop(scene->host);
	for (uint32_t port = 0; port < 2; port++) {
		for (uint32_t worker = 0; worker < scene->workers; worker++)
			vl_instance_close(scene->instances[port][worker], vl_host_now(scene->host));
	}
	vl_host_destroy(scene->host);
}

/* The sum of the instances of a port, asked of their workers. */
struct question {
	struct vl_instance *instance;
	struct vl_instance_status status;
	bool is_over, stop;
};

static void answer(void *context, uint64_t now)
{
	struct question *question = context;

	if (question->stop)
		vl_instance_stop(question->instance, now);
	vl_instance_status(question->instance, &question->status);
	question->is_over = vl_instance_is_over(question->instance);
}

struct sum {
	uint32_t established_now;
	uint64_t established, over, failed, done, refused;
	uint32_t workers_used;
	bool is_over;
};

static struct sum ask(struct scene *scene, uint32_t port, bool stop)
{
	struct sum sum = {.is_over = true};

	for (uint32_t worker = 0; worker < scene->workers; worker++) {
		struct question question = {.instance = scene->instances[port][worker],
					    .stop = stop};

		CU_ASSERT_EQUAL(vl_host_call(scene->host, worker, answer, &question), 0);
		sum.established_now += question.status.cm_usage.established;
		sum.established += question.status.session.established;
		sum.over += question.status.client_over;
		sum.failed += question.status.client_failed + question.status.session.failed;
		sum.done += question.status.client_done;
		sum.refused += question.status.session.refused;
		sum.workers_used += question.status.session.established > 0;
		sum.is_over &= question.is_over;
	}
	return sum;
}

static void pause_a_little(void)
{
	const struct timespec step = {0, 20000000};

	nanosleep(&step, NULL);
}

static struct vl_instance_client client_of(uint32_t connections, uint64_t count)
{
	return (struct vl_instance_client){
		.service = VL_INSTANCE_RPING,
		.destination = address(1),
		.connections = connections,
		.count = count,
		.size = 64,
		.validate = true,
	};
}

static void open_and_close(uint32_t workers)
{
	struct vl_instance_client client = client_of(1000, 1);
	struct scene scene;
	struct sum sum = {0};

	client.at_a_time = 64;
	open_scene(&scene, workers, &client);
	for (uint32_t i = 0; i < 1500 && !sum.is_over; i++) {
		pause_a_little();
		sum = ask(&scene, 0, false);
	}
	CU_ASSERT_EQUAL(sum.over, 1000);
	CU_ASSERT_EQUAL(sum.failed, 0);
	CU_ASSERT_EQUAL(sum.done, 1000);
	sum = ask(&scene, 1, false);
	CU_ASSERT_EQUAL(sum.established, 1000);
	/* Requests are spread over the workers of the port that they come to. */
	CU_ASSERT_EQUAL(sum.workers_used, workers);
	close_scene(&scene);
}

static void test_open_and_close(void)
{
	open_and_close(1);
}

static void test_open_and_close_on_two(void)
{
	open_and_close(2);
}

static void test_ten_thousand(void)
{
	struct vl_instance_client client = client_of(10000, 1);
	struct scene scene;
	struct sum servers = {0}, clients = {0};

	client.hold = true;
	open_scene(&scene, 1, &client);
	for (uint32_t i = 0; i < 1500 && (servers.established_now < 10000 || clients.done < 10000);
	     i++) {
		pause_a_little();
		servers = ask(&scene, 1, false);
		clients = ask(&scene, 0, false);
	}
	CU_ASSERT_EQUAL(servers.established_now, 10000);
	CU_ASSERT_EQUAL(clients.established_now, 10000);
	CU_ASSERT_EQUAL(clients.done, 10000);
	clients = ask(&scene, 0, true);
	for (uint32_t i = 0; i < 1500 && !clients.is_over; i++) {
		pause_a_little();
		clients = ask(&scene, 0, false);
	}
	CU_ASSERT(clients.is_over);
	CU_ASSERT_EQUAL(clients.failed, 0);
	servers = ask(&scene, 1, false);
	CU_ASSERT_EQUAL(servers.established_now, 0);
	CU_ASSERT_EQUAL(servers.established, 10000);
	close_scene(&scene);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"1,000 connections, opened and closed", test_open_and_close},
		{"the same on two workers", test_open_and_close_on_two},
		{"10,000 connections at once", test_ten_thousand},
	};
	int status = test_start_eal(MAX_WORKERS);

	if (status)
		return status;
	status = RUN_SUITE("endpoint", tests, argc, argv);
	vl_eal_stop();
	return status;
}
