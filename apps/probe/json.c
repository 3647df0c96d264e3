/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/probe/findings.h"

/* Adds what is not NULL; false: no memory. */
static bool add(json_t *object, const char *key, json_t *value)
{
	return value && !json_object_set_new(object, key, value);
}

static bool add_configured(json_t *object, double configured)
{
	return configured < 0 || add(object, "configured", json_real(configured));
}

static json_t *size_json(const struct vl_probe_size *size, double configured)
{
	json_t *object = json_pack("{s:f, s:f, s:f}", "value", size->value, "least", size->least,
				   "most", size->most);

	if (object && add_configured(object, configured))
		return object;
	json_decref(object);
	return NULL;
}

/* Kmin, Kmax or Pmax. */
static json_t *parameter_json(double value, double error, double configured)
{
	json_t *object = json_pack("{s:f, s:f}", "value", value, "deviation", error);

	if (object && add_configured(object, configured))
		return object;
	json_decref(object);
	return NULL;
}

static bool fill_marking(json_t *object, const struct vl_probe_marking *marking,
			 const struct probe_configured *configured)
{
	bool good = add(object, "marks", json_boolean(marking->is_marking)) &&
		    add(object, "most_held_bytes", json_real(marking->most_held));

	if (!good || !marking->is_marking)
		return good;
	return add(object, "at", json_string(marking->at_dequeue ? "dequeue" : "enqueue")) &&
	       add(object, "frames", json_integer((json_int_t)marking->frames)) &&
	       add(object, "marked", json_integer((json_int_t)marking->marked)) &&
	       add(object, "kmin_bytes",
		   parameter_json(marking->kmin, marking->kmin_error,
				  configured ? configured->kmin : -1)) &&
	       add(object, "kmax_bytes",
		   parameter_json(marking->kmax, marking->kmax_error,
				  configured ? configured->kmax : -1)) &&
	       add(object, "pmax",
		   parameter_json(marking->pmax, marking->pmax_error,
				  configured ? configured->pmax : -1));
}

static bool fill_drain(json_t *object, const struct vl_probe_drain_rate *drain,
		       const struct probe_configured *configured)
{
	return add(object, "rate_bit_per_s",
		   parameter_json(drain->rate, drain->error, configured ? configured->rate : -1)) &&
	       add(object, "latency_ns", json_integer((json_int_t)drain->latency)) &&
	       add(object, "pause_to_stop_ns", json_integer((json_int_t)drain->response)) &&
	       add(object, "end_to_start_ns", json_integer((json_int_t)drain->resume));
}

static json_t *result_json(const struct probe_findings *findings, enum probe_what what,
			   const struct probe_configured *configured)
{
	bool is_found = findings->states[what] == PROBE_FOUND, good;
	json_t *object = json_object();

	good = object && add(object, "found", json_boolean(is_found));
	if (good && !is_found)
		good = add(object, "reason", json_string(findings->errors[what]));
	else if (good && what == PROBE_ECN)
		good = fill_marking(object, &findings->marking, configured);
	else if (good && what == PROBE_DRAIN)
		good = fill_drain(object, &findings->drain, configured);
	else if (good)
		good = add(object, "bytes",
			   size_json(&findings->limits[what].size,
				     configured ? probe_configured_size(configured, what) : -1));
	if (good)
		return object;
	json_decref(object);
	return NULL;
}

static bool fill(json_t *root, const struct probe_subject *subject,
		 const struct probe_findings *findings)
{
	json_t *results = json_object(), *notes = json_array();
	bool good = add(root, "results", results) && add(root, "notes", notes) &&
		    add(root, "subject", json_string(subject->name)) &&
		    add(root, "emulated", json_boolean(subject->notes != NULL)) &&
		    add(root, "rate_bit_per_s", json_integer((json_int_t)subject->rate)) &&
		    add(root, "dscp", json_integer(subject->dscp)) &&
		    add(root, "priority", json_integer(subject->priority)) &&
		    add(root, "frames", json_integer((json_int_t)findings->frames)) &&
		    add(root, "duration_ns", json_integer((json_int_t)findings->duration));

	if (good && *findings->opening_error)
		good = add(root, "reason", json_string(findings->opening_error));
	if (good && findings->cell)
		good = add(root, "cell_bytes", json_integer(findings->cell));
	for (unsigned int i = 0; good && i < PROBE_COUNT; i++) {
		if (findings->states[i] != PROBE_NOT_ASKED)
			good = add(results, probe_names[i],
				   result_json(findings, i, subject->configured));
	}
	for (unsigned int i = 0; good && subject->notes && i < subject->notes->count; i++)
		good = !json_array_append_new(notes, json_string(subject->notes->texts[i]));
	return good;
}

json_t *probe_json(const struct probe_subject *subject, const struct probe_findings *findings)
{
	json_t *root = json_object();

	if (root && fill(root, subject, findings))
		return root;
	json_decref(root);
	return NULL;
}
