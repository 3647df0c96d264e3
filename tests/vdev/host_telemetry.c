/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A host's telemetry, asked over its socket by another thread while the control thread serves. */

#include "dataplane/runtime/host_telemetry.h"
#include "dataplane/runtime/telemetry.h"
#include "tests/vdev/support.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WORKERS     2u
#define QPS         700u /* more than one answer lists */
#define ANSWER_SIZE (1 << 15)

static char name[32];
static struct vl_host *host;
static struct vl_host_telemetry telemetry;
static uint32_t qpns[WORKERS][QPS];

/* ---- The asking thread ----------------------------------------------------------------- */

struct question {
	const char *text;
	atomic_bool is_answered;
	json_t *answer; /* what stands under the command; NULL: nothing came */
};

static int connect_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	static char greeting[ANSWER_SIZE];
	int descriptor = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/run/dpdk/%s/dpdk_telemetry.v2",
		 name);
	if (connect(descriptor, (struct sockaddr *)&address, sizeof(address)) ||
	    recv(descriptor, greeting, sizeof(greeting), 0) <= 0) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

static void *ask_question(void *context)
{
	struct question *question = context;
	static char text[ANSWER_SIZE];
	int descriptor = connect_socket();
	json_error_t error;
	json_t *root;

	if (descriptor >= 0 && send(descriptor, question->text, strlen(question->text), 0) > 0) {
		ssize_t length = recv(descriptor, text, sizeof(text), 0);

		root = length > 0 ? json_loadb(text, (size_t)length, 0, &error) : NULL;
		if (root) {
			void *first = json_object_iter(root);

			question->answer = json_incref(json_object_iter_value(first));
			json_decref(root);
		}
	}
	close(descriptor);
	atomic_store(&question->is_answered, true);
	return NULL;
}

/* Serves until the answer is there. To be released. */
static json_t *ask(const char *text)
{
	struct question question = {.text = text};
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, ask_question, &question), 0);
	while (!atomic_load(&question.is_answered))
		vl_telemetry_serve(1000000);
	pthread_join(thread, NULL);
	CU_ASSERT_PTR_NOT_NULL(question.answer);
	return question.answer;
}

static json_int_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	CU_ASSERT(json_is_integer(value));
	return json_integer_value(value);
}

/* ---- The host -------------------------------------------------------------------------- */

static void make_qps(uint32_t worker)
{
	struct vl_device *device = vl_host_endpoint(host, 0, worker)->device;
	struct vl_pd *pd = vl_alloc_pd(device, NULL);
	struct vl_cq *cq = vl_create_cq(device, 16, NULL, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(pd);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	for (unsigned int i = 0; i < QPS; i++) {
		struct vl_qp_init_attr attr = {.send_cq = cq,
					       .recv_cq = cq,
					       .cap = {1, 1, 1, 1, 0},
					       .qp_type = i & 1 ? IBV_QPT_UC : IBV_QPT_RC};
		struct vl_qp *qp = vl_create_qp(pd, &attr, NULL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
		qpns[worker][i] = vl_qp_number(qp);
	}
}

/* The other tests ask this host. */
static void test_opens(void)
{
	struct vl_host_config config = {
		.worker_count = WORKERS,
		.port_count = 1,
		.ports = {{.name = "null"}},
	};
	struct vl_error error = {.text = ""};

	config.ports[0].ip.address_count = 1;
	config.ports[0].ip.addresses[0].prefix_length = 24;
	memcpy(config.ports[0].ip.addresses[0].address.raw,
	       (uint8_t[16]){[10] = 0xff, 0xff, 10, 0, 0, 1}, 16);
	host = vl_host_create(&config, &error);
	if (!host)
		printf("%s\n", error.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host);
	for (uint32_t worker = 0; worker < WORKERS; worker++)
		make_qps(worker);
	telemetry = (struct vl_host_telemetry){.host = host,
					       .port_count = 1,
					       .worker_count = WORKERS,
					       .command = "endpoint",
					       .version = "7"};
	CU_ASSERT_EQUAL(vl_host_telemetry_open(&telemetry), 0);
	CU_ASSERT_EQUAL_FATAL(vl_host_start(host, &error), 0);
}

/* ---- Tests ----------------------------------------------------------------------------- */

static void test_info_and_ports(void)
{
	json_t *answer = ask("/verbline/info");

	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(answer, "command")), "endpoint");
	CU_ASSERT_EQUAL(number(answer, "workers"), WORKERS);
	CU_ASSERT(number(answer, "uptime_ns") > 0);
	json_decref(answer);
	answer = ask("/verbline/ports");
	CU_ASSERT_EQUAL(json_array_size(answer), 1);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(answer, 0)), "null");
	json_decref(answer);
	answer = ask("/verbline/port,0");
	CU_ASSERT(number(answer, "mtu") >= 1280);
	json_decref(answer);
	answer = ask("/verbline/worker,1");
	CU_ASSERT(number(answer, "rounds") > 0);
	CU_ASSERT_EQUAL(number(answer, "hand_over_dropped"), 0);
	json_decref(answer);
}

static void see_noise(void *context, uint64_t now)
{
	static const uint8_t noise[64] = {0};
	struct vl_frame frame = {.data = (uint8_t *)noise, .length = sizeof(noise)};

	(void)context;
	vl_receive_frame(vl_host_endpoint(host, 0, 1)->device, VL_LINK_ETHERNET, frame.data,
			 frame.length, now);
}

/* What one worker counts is in the sum. */
static void test_counters(void)
{
	json_t *before = ask("/verbline/drops,0"), *after, *answer;

	CU_ASSERT_EQUAL(vl_host_call(host, 1, see_noise, NULL), 0);
	after = ask("/verbline/drops,0");
	CU_ASSERT_EQUAL(number(after, "not_parsed"), number(before, "not_parsed") + 1);
	CU_ASSERT_EQUAL(json_object_size(after), VL_DROP_COUNT);
	json_decref(before);
	json_decref(after);
	answer = ask("/verbline/counters,0");
	CU_ASSERT_EQUAL(number(answer, "data_frames_tx"), 0);
	number(answer, "rx_frames");
	json_decref(answer);
	answer = ask("/verbline/ip,0");
	number(answer, "arp_tx");
	json_decref(answer);
	answer = ask("/verbline/pfc,0");
	CU_ASSERT_EQUAL(number(answer, "paused_ns_7"), 0);
	json_decref(answer);
}

static void test_queue_pairs(void)
{
	json_t *answer = ask("/verbline/qp/list,0");
	char question[64];
	uint32_t next;

	CU_ASSERT_EQUAL(json_array_size(answer), 512);
	CU_ASSERT_EQUAL(json_integer_value(json_array_get(answer, 0)), qpns[0][0]);
	next = (uint32_t)json_integer_value(json_array_get(answer, 511)) + 1;
	json_decref(answer);
	snprintf(question, sizeof(question), "/verbline/qp/list,0,%u", next);
	answer = ask(question);
	/* The rest of worker 0's, and the first of worker 1's. */
	CU_ASSERT_EQUAL(json_array_size(answer), 512);
	CU_ASSERT_EQUAL(json_integer_value(json_array_get(answer, QPS - 512)), qpns[1][0]);
	json_decref(answer);

	snprintf(question, sizeof(question), "/verbline/qp/info,0,%u", qpns[1][3]);
	answer = ask(question);
	CU_ASSERT_EQUAL(number(answer, "qpn"), qpns[1][3]);
	CU_ASSERT_EQUAL(number(answer, "worker"), 1);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(answer, "type")), "UC");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(answer, "state")), "RESET");
	json_decref(answer);
	snprintf(question, sizeof(question), "/verbline/cc,0,%u", qpns[0][0]);
	answer = ask(question);
	CU_ASSERT_EQUAL(number(answer, "rate_cuts"), 0);
	json_decref(answer);
}

static void test_refused_parameters(void)
{
	static const char *const questions[] = {
		"/verbline/port",
		"/verbline/port,1",
		"/verbline/port,-1",
		"/verbline/port,0,0",
		"/verbline/worker,2",
		"/verbline/drops,x",
		"/verbline/qp/list,0,1,1",
		"/verbline/qp/info,0",
		"/verbline/qp/info,0,1048575",
		"/verbline/qp/info,0,5",
		"/verbline/cc,0,99999999",
		"/verbline/ip,18446744073709551617",
	};

	for (unsigned int i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		json_t *answer = ask(questions[i]);

		CU_ASSERT(json_is_null(answer));
		if (!json_is_null(answer))
			printf("%s is answered\n", questions[i]);
		json_decref(answer);
	}
}

/* After the end nobody waits. */
static void test_closed(void)
{
	json_t *answer;

	vl_telemetry_close();
	answer = ask("/verbline/info");
	CU_ASSERT(json_is_null(answer));
	json_decref(answer);
	CU_ASSERT_EQUAL(vl_host_telemetry_open(&telemetry), 0);
	answer = ask("/verbline/info");
	CU_ASSERT(json_is_object(answer));
	json_decref(answer);
	CU_ASSERT_NOT_EQUAL(vl_host_telemetry_open(&telemetry), 0);
}

static int answer_nothing(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	(void)context;
	(void)parameters;
	(void)reply;
	return -1;
}

/* What DPDK refuses leaves the room to others. */
static void test_refused_topic(void)
{
	static const struct vl_telemetry_topic wrong[] = {
		{"/verbline/refused", "none", answer_nothing},
		{"no slash before it", "none", answer_nothing},
	};

	vl_telemetry_close();
	CU_ASSERT_NOT_EQUAL(vl_telemetry_open(wrong, 2, NULL), 0);
	CU_ASSERT_EQUAL(vl_host_telemetry_open(&telemetry), 0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"opens", test_opens},
		{"info_and_ports", test_info_and_ports},
		{"counters", test_counters},
		{"queue_pairs", test_queue_pairs},
		{"refused_parameters", test_refused_parameters},
		{"closed", test_closed},
		{"refused_topic", test_refused_topic},
	};
	const char *ports[] = {"null"};
	const struct vl_eal_config config = {
		.worker_count = WORKERS,
		.memory_mb = 256,
		.hugepages = VL_HUGEPAGES_NEVER,
		.ports = ports,
		.port_count = 1,
		.telemetry = name,
	};
	struct vl_error error;
	int status;

	if (test_cpu_count() < WORKERS || access("/run", W_OK)) {
		printf("skipped: needs %u CPUs, and /run to be written to\n", WORKERS);
		return TEST_SKIPPED;
	}
	snprintf(name, sizeof(name), "vlh-%ld", (long)getpid());
	if (vl_eal_start(&config, &error)) {
		printf("EAL: %s\n", error.text);
		return 1;
	}
	status = RUN_SUITE("host_telemetry", tests, argc, argv);
	vl_telemetry_close();
	vl_host_destroy(host);
	vl_eal_stop();
	return status;
}
