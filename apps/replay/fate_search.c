/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/fate_search.h"

#include "apps/replay/fate_course.h"

#include <stdlib.h>
#include <string.h>

#define MOST_COURSES 256u
/* A course that costs so much more than the cheapest is given up. */
#define COST_LIMIT 90u
#define MOST_NODES (1u << 22)
/* A request that is overtaken comes before so many more were sent. */
#define MOST_OVERTAKING 64u
/* Answers that are looked at for a NAK of the expected packet. */
#define LOOKED_AT 64u

/* How one request of a course fared; courses share their pasts. */
struct node {
	uint32_t parent;
	uint32_t request;
	uint32_t answer; /* response that begins its answer, or that refuses it; FATE_NONE */
	uint32_t after;
	uint8_t fate;
};

struct copy {
	int64_t position;
	uint32_t index;
};

struct search {
	struct scene scene;
	struct request_outcomes *result;
	uint32_t *next_same; /* of each request: the next with the same position, or FATE_NONE */
	int64_t *progress;   /* of each response: the position expected by then, at least */
	struct node *nodes;
	uint32_t node_count, node_room;
	struct course courses[MOST_COURSES];
	uint32_t course_count;
	struct course *found; /* courses after the request at hand */
	uint32_t found_count, found_room;
	bool is_out_of_memory;
};

/* ---- Preparation ---------------------------------------------------------------------------- */

static int compare_copies(const void *a, const void *b)
{
	const struct copy *one = a, *two = b;

	if (one->position != two->position)
		return one->position < two->position ? -1 : 1;
	return one->index < two->index ? -1 : one->index > two->index;
}

static bool find_copies(struct search *search)
{
	uint32_t count = search->scene.requests->count;
	struct copy *copies = malloc((count + 1) * sizeof(*copies));

	if (!copies)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		copies[i] = (struct copy){search->scene.requests->items[i]->position, i};
		search->next_same[i] = FATE_NONE;
	}
	qsort(copies, count, sizeof(*copies), compare_copies);
	for (uint32_t i = 1; i < count; i++) {
		if (copies[i].position == copies[i - 1].position)
			search->next_same[copies[i - 1].index] = copies[i].index;
	}
	free(copies);
	return true;
}

/*
 * An ACK says which PSN is expected next, a NAK too; other responses that it is a later one than
 * theirs. A responder never goes back; what speaks of a PSN that had not been sent is a lie.
 */
static void follow_progress(struct search *search)
{
	int64_t progress = INT64_MIN, sent = INT64_MIN;
	uint32_t request = 0;

	for (uint32_t i = 0; i < search->scene.responses->count; i++) {
		const struct recorded_packet *response = search->scene.responses->items[i];
		int64_t shown = response->position + !is_negative(&response->packet);

		for (; request < search->scene.requests->count &&
		       search->scene.requests->items[request]->number < response->number;
		     request++) {
			const struct recorded_packet *sending =
				search->scene.requests->items[request];
			int64_t end =
				sending->position +
				request_psn_count(search->scene.conversation, &sending->packet);

			if (end > sent)
				sent = end;
		}
		search->result->speaks_of_unsent[i] = shown > sent && sent != INT64_MIN;
		if (shown > progress && shown <= sent)
			progress = shown;
		search->progress[i] = progress;
	}
}

/* ---- Courses -------------------------------------------------------------------------------- */

static uint32_t add_node(struct search *search, struct node node)
{
	if (search->node_count == search->node_room) {
		uint32_t more = search->node_room ? search->node_room * 2 : 1024;
		void *grown = realloc(search->nodes, more * sizeof(*search->nodes));

		if (!grown) {
			search->is_out_of_memory = true;
			return node.parent;
		}
		search->nodes = grown;
		search->node_room = more;
	}
	search->nodes[search->node_count] = node;
	return search->node_count++;
}

static bool is_same_state(const struct course *a, const struct course *b)
{
	return a->expected == b->expected && a->next == b->next && a->held == b->held &&
	       a->nak_sent == b->nak_sent && a->rnr_sent == b->rnr_sent &&
	       a->is_refused == b->is_refused && a->owes_ack == b->owes_ack;
}

/* Of courses that have come to the same, the cheapest is kept, or the first. */
static void add_course(struct search *search, struct course course, struct node node)
{
	uint32_t at = 0;

	while (at < search->found_count && !is_same_state(&search->found[at], &course))
		at++;
	if (at < search->found_count && search->found[at].cost <= course.cost)
		return;
	if (at == search->found_room) {
		void *grown =
			realloc(search->found, 2 * search->found_room * sizeof(*search->found));

		if (!grown) {
			search->is_out_of_memory = true;
			return;
		}
		search->found = grown;
		search->found_room *= 2;
	}
	node.parent = course.node;
	course.node = add_node(search, node);
	search->found[at] = course;
	if (at == search->found_count)
		search->found_count++;
}

/* First response that shows a later position to be expected. */
static uint32_t find_passed(const struct search *search, int64_t position)
{
	uint32_t low = 0, high = search->scene.responses->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (search->progress[middle] <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* An answer shows that the expected packet came, before it was sent again, and no NAK speaks
 * against it. */
static bool must_have_come(const struct search *search, const struct course *course, uint32_t index)
{
	uint32_t passed = find_passed(search, course->expected);
	uint32_t again = search->next_same[index];

	if (passed == search->scene.responses->count ||
	    (again != FATE_NONE && search->scene.responses->items[passed]->number >
					   search->scene.requests->items[again]->number))
		return false;
	for (uint32_t i = course->next; i < passed && i - course->next < LOOKED_AT; i++) {
		const struct recorded_packet *response = search->scene.responses->items[i];

		if (is_negative(&response->packet) && response->position == course->expected)
			return false;
	}
	return true;
}

/* The ways of a request that is at the expected position. */
static void branch_expected(struct search *search, const struct course *before, uint32_t index)
{
	const struct recorded_packet *request = search->scene.requests->items[index];
	struct node node = {.request = index, .answer = FATE_NONE};
	struct course course = *before;

	course.is_losing = false;
	if (course_refuse(&search->scene, &course, request, &node.answer)) {
		node.fate = course.is_refused ? REQUEST_REFUSED : REQUEST_NOT_READY;
		add_course(search, course, node);
	}
	course = *before;
	course.is_losing = false;
	node = (struct node){.request = index, .answer = FATE_NONE};
	course_execute(&search->scene, &course, request, &node.answer, true);
	add_course(search, course, node);
	/* An ACK that was not asked for may be due to something else. */
	if (node.answer == FATE_NONE || is_resource(&request->packet) ||
	    request->packet.ack_request)
		return;
	course = *before;
	course.is_losing = false;
	node.answer = FATE_NONE;
	course_execute(&search->scene, &course, request, &node.answer, false);
	add_course(search, course, node);
}

static void branch_arrival(struct search *search, const struct course *before, uint32_t index)
{
	const struct recorded_packet *request = search->scene.requests->items[index];
	struct node node = {.request = index, .answer = FATE_NONE};
	struct course course = *before;

	course.is_losing = false;
	if (request->position == before->expected && !before->is_refused) {
		branch_expected(search, before, index);
		return;
	}
	if (!before->is_refused && request->position < before->expected &&
	    !course_repeat(&search->scene, &course, request, &node.answer))
		return;
	if (!before->is_refused && request->position > before->expected)
		course_refuse_gap(&search->scene, &course, request, &node.answer);
	add_course(search, course, node);
}

static void branch_loss(struct search *search, const struct course *before, uint32_t index)
{
	struct node node = {.request = index, .answer = FATE_NONE, .fate = REQUEST_LOST};
	struct course course = *before;

	/* Losses come together. */
	course.cost +=
		before->is_losing && search->scene.requests->items[index]->position >
					     search->scene.requests->items[index - 1]->position
			? COST_LOST_WITH_OTHERS
			: COST_LOST;
	course.is_losing = true;
	add_course(search, course, node);
}

/* It is still under way when those that are sent after it arrive: only worth a thought if something
 * else is to be explained first. */
static void branch_hold(struct search *search, const struct course *before, uint32_t index)
{
	const struct recorded_packet *request = search->scene.requests->items[index];
	struct node node = {.request = index, .answer = FATE_NONE, .fate = REQUEST_LOST};
	struct course course = *before;

	if (!course_may_hold(&search->scene, before, request))
		return;
	course.held = index;
	course.cost += COST_OVERTAKEN;
	add_course(search, course, node);
}

static void branch(struct search *search, const struct course *before, uint32_t index)
{
	branch_arrival(search, before, index);
	if (before->is_refused ||
	    (search->scene.requests->items[index]->position == before->expected &&
	     must_have_come(search, before, index)))
		return;
	branch_loss(search, before, index);
	branch_hold(search, before, index);
}

/* After a request, one that it overtook may come. */
static void branch_releases(struct search *search, uint32_t index)
{
	uint32_t count = search->found_count;

	for (uint32_t i = 0; i < count; i++) {
		struct course course = search->found[i];
		const struct recorded_packet *held;
		struct node node = {.answer = FATE_NONE, .fate = REQUEST_OVERTAKEN, .after = index};

		if (course.held == FATE_NONE || course.held == index)
			continue;
		node.request = course.held;
		held = search->scene.requests->items[course.held];
		if (index - course.held > MOST_OVERTAKING)
			search->found[i].held = FATE_NONE;
		course.held = FATE_NONE;
		course.is_losing = false;
		if (held->position == course.expected)
			course_execute(&search->scene, &course, held, &node.answer, true);
		else if (held->position > course.expected ||
			 !course_repeat(&search->scene, &course, held, &node.answer))
			continue;
		add_course(search, course, node);
	}
}

/* ---- Choosing ------------------------------------------------------------------------------- */

static int compare_costs(const void *a, const void *b)
{
	const struct course *one = a, *two = b;

	if (one->cost != two->cost)
		return one->cost < two->cost ? -1 : 1;
	return one->node < two->node ? -1 : one->node > two->node;
}

/* Writes down how the requests of a course fared. */
static void commit(struct search *search, uint32_t node_index)
{
	while (node_index != FATE_NONE) {
		const struct node *node = &search->nodes[node_index];
		struct request_outcome *outcome = &search->result->items[node->request];

		node_index = node->parent;
		/* From the last back: of a request that was held its release comes first. */
		if (outcome->fate != REQUEST_UNDECIDED)
			continue;
		*outcome = (struct request_outcome){.fate = (enum request_fate)node->fate,
						    .after = node->after,
						    .answer = node->answer};
	}
	search->node_count = 0;
}

static void choose(struct search *search, bool is_end)
{
	uint32_t most = is_end || search->node_count > MOST_NODES ? 1 : MOST_COURSES;

	qsort(search->found, search->found_count, sizeof(*search->found), compare_costs);
	if (search->found_count > most)
		search->found_count = most;
	while (search->found[search->found_count - 1].cost > search->found[0].cost + COST_LIMIT)
		search->found_count--;
	memcpy(search->courses, search->found, search->found_count * sizeof(*search->found));
	search->course_count = search->found_count;
	for (uint32_t i = search->course_count; i-- > 0;)
		search->courses[i].cost -= search->courses[0].cost;
	/* What is under way is not decided. */
	if (search->course_count == 1 && (is_end || search->courses[0].held == FATE_NONE)) {
		commit(search, search->courses[0].node);
		search->courses[0].node = FATE_NONE;
	}
}

static void walk(struct search *search)
{
	const struct packet_list *requests = search->scene.requests;

	search->courses[0] = (struct course){
		.expected = search->scene.start, .held = FATE_NONE, .node = FATE_NONE};
	search->course_count = 1;
	for (uint32_t i = 0; i < requests->count; i++) {
		if (requests->items[i]->position < search->scene.start) {
			search->result->items[i].fate = REQUEST_SKIPPED;
			continue;
		}
		search->found_count = 0;
		for (uint32_t j = 0; j < search->course_count; j++) {
			course_pass_unexplained(&search->scene, &search->courses[j],
						requests->items[i]->number);
			branch(search, &search->courses[j], i);
		}
		branch_releases(search, i);
		if (search->is_out_of_memory)
			return;
		choose(search, false);
	}
	/* What was recorded after the last request is to be explained too. */
	for (uint32_t j = 0; j < search->course_count; j++) {
		course_pass_unexplained(&search->scene, &search->courses[j], UINT64_MAX);
		search->found[j] = search->courses[j];
	}
	search->found_count = search->course_count;
	choose(search, true);
}

bool search_fates(const struct conversation *conversation, uint64_t last_from_responder,
		  struct request_outcomes *result)
{
	struct search *search = calloc(1, sizeof(*search));

	if (!search)
		return false;
	search->scene = (struct scene){.conversation = conversation,
				       .requests = &conversation->requests,
				       .responses = &conversation->responses,
				       .start = result->start,
				       .last_from_responder = last_from_responder};
	search->result = result;
	search->next_same = malloc((conversation->requests.count + 1) * sizeof(uint32_t));
	search->progress = malloc((conversation->responses.count + 1) * sizeof(int64_t));
	search->found_room = MOST_COURSES;
	search->found = malloc(search->found_room * sizeof(*search->found));
	search->is_out_of_memory =
		!search->next_same || !search->progress || !search->found || !find_copies(search);
	for (uint32_t i = 0; i < conversation->requests.count; i++)
		result->items[i].fate = REQUEST_UNDECIDED;
	if (!search->is_out_of_memory) {
		follow_progress(search);
		walk(search);
	}
	free(search->next_same);
	free(search->progress);
	free(search->nodes);
	free(search->found);
	result->is_out_of_memory = search->is_out_of_memory;
	free(search);
	return !result->is_out_of_memory;
}
