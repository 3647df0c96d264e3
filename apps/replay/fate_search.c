/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/fate_search.h"

#include <stdlib.h>
#include <string.h>

#define MOST_COURSES 256u
#define MOST_NODES   (1u << 22)
/* A request that is overtaken comes before so many more were sent. */
#define MOST_OVERTAKING 64u
/* Answers that are looked at for a NAK of the expected packet. */
#define LOOKED_AT 64u

/* What is unlikely, and how much. */
enum cost {
	COST_UNASKED_ACK = 1,
	COST_LOST_WITH_OTHERS = 1,
	COST_PUT_OFF_ACK = 2,
	COST_SILENCE_ON_DUPLICATE = 4,
	COST_VOLUNTARY_ACK = 3,
	COST_LOST = 10,
	COST_UNANSWERED = 12, /* though the responder was heard of later */
	COST_OVERTAKEN = 13,
	COST_OWED_ACK_NEVER_SENT = 20,
	COST_NAK_NOT_CAPTURED = 20,
	COST_LATE_ACK = 30,
	COST_LIMIT = 90, /* a course that costs so much more than the cheapest is given up */
	COST_CONTRADICTION = 100,
};

/* How one request of a course fared; courses share their pasts. */
struct node {
	uint32_t parent;
	uint32_t request;
	uint32_t answer; /* response that begins its answer, or that refuses it; FATE_NONE */
	uint32_t after;
	uint8_t fate;
};

struct course {
	int64_t expected;
	uint32_t next; /* response that is to be explained next */
	uint32_t held; /* a request that is under way still; FATE_NONE */
	uint32_t node; /* the last */
	uint32_t cost;
	bool nak_sent, rnr_sent, is_refused;
	bool owes_ack;
	bool is_losing; /* the last request was lost */
};

struct copy {
	int64_t position;
	uint32_t index;
};

struct search {
	const struct conversation *conversation;
	const struct packet_list *requests, *responses;
	struct request_outcomes *result;
	uint64_t last_from_responder;
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
	uint32_t count = search->requests->count;
	struct copy *copies = malloc((count + 1) * sizeof(*copies));

	if (!copies)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		copies[i] = (struct copy){search->requests->items[i]->position, i};
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

	for (uint32_t i = 0; i < search->responses->count; i++) {
		const struct recorded_packet *response = search->responses->items[i];
		int64_t shown = response->position + !is_negative(&response->packet);

		for (; request < search->requests->count &&
		       search->requests->items[request]->number < response->number;
		     request++) {
			const struct recorded_packet *sending = search->requests->items[request];
			int64_t end = sending->position +
				      request_psn_count(search->conversation, &sending->packet);

			if (end > sent)
				sent = end;
		}
		search->result->speaks_of_unsent[i] = shown > sent && sent != INT64_MIN;
		if (shown > progress && shown <= sent)
			progress = shown;
		search->progress[i] = progress;
	}
}

/* ---- Responses ------------------------------------------------------------------------------ */

/* The next response, if a request may have caused it; NULL. */
static const struct recorded_packet *next_response(const struct search *search,
						   const struct course *course,
						   const struct recorded_packet *request)
{
	const struct recorded_packet *response;

	if (course->next >= search->responses->count)
		return NULL;
	response = search->responses->items[course->next];
	return response->number > request->number ? response : NULL;
}

static bool is_ack_of(const struct recorded_packet *response, int64_t position)
{
	return response && response->position == position && is_ack(&response->packet);
}

static bool is_sequence_nak_of(const struct recorded_packet *response, int64_t position)
{
	return response && response->position == position && is_nak(&response->packet) &&
	       response->packet.syndrome == NAK_SEQUENCE;
}

static bool is_refusal_of(const struct recorded_packet *response, int64_t position)
{
	return response && response->position == position && is_negative(&response->packet) &&
	       response->packet.syndrome != NAK_SEQUENCE;
}

static bool is_data_of(const struct recorded_packet *response, int64_t position)
{
	return response && response->position == position && !is_acknowledge(&response->packet);
}

/* The rest of an answer of several packets. */
static bool is_continuation(const struct search *search, uint32_t response)
{
	const struct recorded_packet *this = search->responses->items[response];
	const struct recorded_packet *before =
		response ? search->responses->items[response - 1] : NULL;

	return before && !is_acknowledge(&this->packet) && !is_acknowledge(&before->packet) &&
	       this->position == before->position + 1;
}

/* Responses that were sent before a packet, and that nothing has explained. */
static void pass_unexplained(const struct search *search, struct course *course, uint64_t number)
{
	for (; course->next < search->responses->count &&
	       search->responses->items[course->next]->number < number;
	     course->next++) {
		const struct recorded_packet *response = search->responses->items[course->next];

		if (response->position < search->result->start - 1 ||
		    is_continuation(search, course->next))
			continue;
		if (!is_ack(&response->packet))
			course->cost += COST_CONTRADICTION;
		else if (response->position + 1 == course->expected)
			course->cost += COST_VOLUNTARY_ACK;
		else
			course->cost += COST_LATE_ACK;
	}
}

typedef bool response_test(const struct recorded_packet *response, int64_t position);

/* Whether the next response is what a request brought, perhaps behind voluntary ACKs; then the
 * course has come to it. */
static bool comes_next(const struct search *search, struct course *course,
		       const struct recorded_packet *request, response_test *test, int64_t position)
{
	struct course skipping = *course;
	const struct recorded_packet *response = next_response(search, &skipping, request);

	while (response && !test(response, position) && is_ack(&response->packet) &&
	       response->position < skipping.expected) {
		skipping.cost += response->position + 1 == skipping.expected ? COST_VOLUNTARY_ACK
									     : COST_LATE_ACK;
		skipping.next++;
		response = next_response(search, &skipping, request);
	}
	if (!test(response, position))
		return false;
	*course = skipping;
	return true;
}

/* Takes the packets of an answer that begins with the next response. */
static void take_answer(const struct search *search, struct course *course, struct node *node,
			uint32_t count)
{
	node->answer = course->next++;
	while (--count && course->next < search->responses->count &&
	       is_continuation(search, course->next))
		course->next++;
}

/* ---- The responder --------------------------------------------------------------------------- */

/* Nothing is left in the capture that could be the answer, though its sender was heard of later. */
static bool is_unanswered(const struct search *search, const struct course *course,
			  const struct recorded_packet *request)
{
	return course->next == search->responses->count &&
	       search->last_from_responder > request->number && !search->conversation->is_continued;
}

/* A request that was executed already. False: it cannot have come. */
static bool repeat(const struct search *search, struct course *course,
		   const struct recorded_packet *request, struct node *node)
{
	if (is_resource(&request->packet)) {
		if (!comes_next(search, course, request, is_data_of, request->position))
			return false;
		take_answer(search, course, node,
			    request_psn_count(search->conversation, &request->packet));
		return true;
	}
	if (course->owes_ack)
		course->cost += COST_OWED_ACK_NEVER_SENT;
	course->owes_ack = false;
	if (is_ack_of(next_response(search, course, request), course->expected - 1))
		course->next++;
	else if (is_unanswered(search, course, request))
		course->cost += COST_UNANSWERED;
	else
		course->cost += COST_SILENCE_ON_DUPLICATE;
	return true;
}

/* A request behind a gap: one NAK, then silence. */
static void refuse_gap(const struct search *search, struct course *course,
		       const struct recorded_packet *request, struct node *node)
{
	if (!course->nak_sent &&
	    comes_next(search, course, request, is_sequence_nak_of, course->expected)) {
		/* After an RNR NAK too: a habit. */
		node->answer = course->next++;
		course->nak_sent = true;
		return;
	}
	if (course->nak_sent || course->rnr_sent)
		return;
	course->nak_sent = true;
	course->cost += course->next == search->responses->count ? COST_NAK_NOT_CAPTURED
								 : COST_CONTRADICTION;
}

/* The answer is not where it should be: perhaps it is near. */
static void miss_answer(const struct search *search, struct course *course,
			const struct recorded_packet *request, struct node *node)
{
	course->cost += COST_CONTRADICTION;
	for (uint32_t i = course->next;
	     i < search->responses->count && i - course->next < LOOKED_AT; i++) {
		if (is_data_of(search->responses->items[i], request->position)) {
			node->answer = i;
			return;
		}
	}
}

/* The request that was expected. */
static void execute(const struct search *search, struct course *course,
		    const struct recorded_packet *request, struct node *node, bool takes_ack)
{
	uint32_t count = request_psn_count(search->conversation, &request->packet);
	bool is_unheard = course->next == search->responses->count;

	if (is_resource(&request->packet)) {
		if (comes_next(search, course, request, is_data_of, request->position))
			take_answer(search, course, node, count);
		else if (!is_unheard)
			miss_answer(search, course, request, node);
		course->owes_ack = false;
	} else if (takes_ack && comes_next(search, course, request, is_ack_of, request->position)) {
		course->cost += request->packet.ack_request ? 0 : COST_UNASKED_ACK;
		node->answer = course->next++;
		course->owes_ack = false;
	} else if (request->packet.ack_request && !is_unheard) {
		course->cost += COST_PUT_OFF_ACK;
		course->owes_ack = true;
	}
	if ((request->packet.ack_request || is_resource(&request->packet)) && is_unheard &&
	    is_unanswered(search, course, request))
		course->cost += COST_UNANSWERED;
	/* An ACK of what was there before could not be sent later. */
	while (course->next < search->responses->count &&
	       is_ack_of(search->responses->items[course->next], course->expected - 1)) {
		course->cost += COST_VOLUNTARY_ACK;
		course->next++;
	}
	course->expected += count;
	course->nak_sent = course->rnr_sent = false;
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
	uint32_t low = 0, high = search->responses->count;

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

	if (passed == search->responses->count ||
	    (again != FATE_NONE &&
	     search->responses->items[passed]->number > search->requests->items[again]->number))
		return false;
	for (uint32_t i = course->next; i < passed && i - course->next < LOOKED_AT; i++) {
		const struct recorded_packet *response = search->responses->items[i];

		if (is_negative(&response->packet) && response->position == course->expected)
			return false;
	}
	return true;
}

/* The ways of a request that is at the expected position. */
static void branch_expected(struct search *search, const struct course *before, uint32_t index)
{
	const struct recorded_packet *request = search->requests->items[index];
	struct node node = {.request = index, .answer = FATE_NONE};
	struct course course = *before;

	course.is_losing = false;
	if (comes_next(search, &course, request, is_refusal_of, before->expected)) {
		node.answer = course.next++;
		if (is_rnr_nak(&search->responses->items[node.answer]->packet))
			course.rnr_sent = true;
		else
			course.is_refused = true;
		node.fate = course.is_refused ? REQUEST_REFUSED : REQUEST_NOT_READY;
		add_course(search, course, node);
	}
	course = *before;
	course.is_losing = false;
	node = (struct node){.request = index, .answer = FATE_NONE};
	execute(search, &course, request, &node, true);
	add_course(search, course, node);
	/* An ACK that was not asked for may be due to something else. */
	if (node.answer == FATE_NONE || is_resource(&request->packet) ||
	    request->packet.ack_request)
		return;
	course = *before;
	course.is_losing = false;
	node.answer = FATE_NONE;
	execute(search, &course, request, &node, false);
	add_course(search, course, node);
}

static void branch_arrival(struct search *search, const struct course *before, uint32_t index)
{
	const struct recorded_packet *request = search->requests->items[index];
	struct node node = {.request = index, .answer = FATE_NONE};
	struct course course = *before;

	course.is_losing = false;
	if (request->position == before->expected && !before->is_refused) {
		branch_expected(search, before, index);
		return;
	}
	if (!before->is_refused && request->position < before->expected &&
	    !repeat(search, &course, request, &node))
		return;
	if (!before->is_refused && request->position > before->expected)
		refuse_gap(search, &course, request, &node);
	add_course(search, course, node);
}

static void branch_loss(struct search *search, const struct course *before, uint32_t index)
{
	struct node node = {.request = index, .answer = FATE_NONE, .fate = REQUEST_LOST};
	struct course course = *before;

	/* Losses come together. */
	course.cost += before->is_losing && search->requests->items[index]->position >
						    search->requests->items[index - 1]->position
			       ? COST_LOST_WITH_OTHERS
			       : COST_LOST;
	course.is_losing = true;
	add_course(search, course, node);
}

/* It is still under way when those that are sent after it arrive: only worth a thought if something
 * else is to be explained first. */
static void branch_hold(struct search *search, const struct course *before, uint32_t index)
{
	const struct recorded_packet *request = search->requests->items[index];
	struct node node = {.request = index, .answer = FATE_NONE, .fate = REQUEST_LOST};
	struct course course = *before;

	if (before->held != FATE_NONE || before->is_refused ||
	    !next_response(search, before, request))
		return;
	if (is_resource(&request->packet)
		    ? request->position > before->expected
		    : request->position != before->expected ||
			      !comes_next(search, &course, request, is_sequence_nak_of,
					  before->expected))
		return;
	course = *before;
	course.held = index;
	course.cost += COST_OVERTAKEN;
	add_course(search, course, node);
}

static void branch(struct search *search, const struct course *before, uint32_t index)
{
	branch_arrival(search, before, index);
	if (before->is_refused || (search->requests->items[index]->position == before->expected &&
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
		held = search->requests->items[course.held];
		if (index - course.held > MOST_OVERTAKING)
			search->found[i].held = FATE_NONE;
		course.held = FATE_NONE;
		course.is_losing = false;
		if (held->position == course.expected)
			execute(search, &course, held, &node, true);
		else if (held->position > course.expected || !repeat(search, &course, held, &node))
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
	const struct packet_list *requests = search->requests;

	search->courses[0] = (struct course){
		.expected = search->result->start, .held = FATE_NONE, .node = FATE_NONE};
	search->course_count = 1;
	for (uint32_t i = 0; i < requests->count; i++) {
		if (requests->items[i]->position < search->result->start) {
			search->result->items[i].fate = REQUEST_SKIPPED;
			continue;
		}
		search->found_count = 0;
		for (uint32_t j = 0; j < search->course_count; j++) {
			pass_unexplained(search, &search->courses[j], requests->items[i]->number);
			branch(search, &search->courses[j], i);
		}
		branch_releases(search, i);
		if (search->is_out_of_memory)
			return;
		choose(search, false);
	}
	/* What was recorded after the last request is to be explained too. */
	for (uint32_t j = 0; j < search->course_count; j++) {
		pass_unexplained(search, &search->courses[j], UINT64_MAX);
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
	search->conversation = conversation;
	search->requests = &conversation->requests;
	search->responses = &conversation->responses;
	search->result = result;
	search->last_from_responder = last_from_responder;
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
