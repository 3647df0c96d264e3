/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A trace: rows of time, source, destination and bytes, read line by line. A first row of names may
 * put the columns in another order, among others, and give times a unit (time_us). Numbers may have
 * units of their own.
 */

#include "apps/scenario/scenario.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_COLUMNS  32u
#define MAX_CELL     64u
#define MAX_LINE     4096u
#define NO_RANK      UINT32_MAX
#define HALF_OF_LONG (UINT64_MAX / 2)

enum column { TIME, SOURCE, DESTINATION, BYTES, COLUMN_COUNT };

struct reader {
	const struct vl_scenario *scenario;
	const char *path;
	struct vl_scenario_workload *workload;
	FILE *file;
	uint32_t *ranks; /* by node; NO_RANK */
	char line[MAX_LINE];
	unsigned int line_number;
	char *cells[MAX_COLUMNS];
	unsigned int cell_count;
	unsigned int columns[COLUMN_COUNT]; /* their places */
	const char *time_unit;              /* of times without one */
	char *error;
	size_t error_size;
};

/* Spreadsheets begin a file of UTF-8 with it. */
static const char byte_order_mark[] = "\xef\xbb\xbf";
static const char *const column_names[] = {"time", "source", "destination", "bytes"};

__attribute__((format(printf, 3, 4))) static int refuse(struct reader *reader, const char *cell,
							const char *format, ...)
{
	int length =
		reader->line_number
			? snprintf(reader->error, reader->error_size, "%s:%u:%u: ", reader->path,
				   reader->line_number, (unsigned int)(cell - reader->line) + 1)
			: snprintf(reader->error, reader->error_size, "%s: ", reader->path);
	va_list arguments;

	if (length < 0 || (size_t)length >= reader->error_size)
		return -EINVAL;
	va_start(arguments, format);
	vsnprintf(reader->error + length, reader->error_size - (size_t)length, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- Lines and cells ----------------------------------------------------------------------- */

/* 1: there is a line that says something, cut into cells; 0: the end; or an error. */
static int next_line(struct reader *reader)
{
	for (;;) {
		char *text = reader->line, *end;

		if (!fgets(reader->line, sizeof(reader->line), reader->file))
			return ferror(reader->file)
				       ? refuse(reader, reader->line, "%s", strerror(errno))
				       : 0;
		reader->line_number++;
		if (reader->line_number == 1 && !strncmp(text, byte_order_mark, 3))
			memset(text, ' ', 3);
		end = text + strlen(text);
		if (end == text + sizeof(reader->line) - 1 && end[-1] != '\n')
			return refuse(reader, reader->line, "is longer than %u characters",
				      MAX_LINE - 2);
		text += strspn(text, " \t\r\n");
		if (*text && *text != '#')
			return 1;
	}
}

static char *trim(char *cell)
{
	char *end;

	cell += strspn(cell, " \t");
	end = cell + strlen(cell);
	while (end > cell && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return cell;
}

static int cut(struct reader *reader)
{
	char *rest = reader->line;

	reader->cell_count = 0;
	while (rest) {
		char *comma = strchr(rest, ',');

		if (comma)
			*comma = '\0';
		if (reader->cell_count == MAX_COLUMNS)
			return refuse(reader, rest, "more than %u columns", MAX_COLUMNS);
		reader->cells[reader->cell_count++] = trim(rest);
		rest = comma ? comma + 1 : NULL;
	}
	return 0;
}

static bool is_one_of(const char *text, const char *one, const char *other)
{
	return !strcmp(text, one) || !strcmp(text, other);
}

/* Whether the first row names columns; then they are known. */
static int read_names(struct reader *reader)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	bool is_known[COLUMN_COUNT] = {false};

	for (unsigned int i = 0; i < reader->cell_count; i++) {
		const char *name = reader->cells[i];
		unsigned int column = COLUMN_COUNT;

		if (!strncmp(name, "time", 4) && (!name[4] || name[4] == '_'))
			column = TIME;
		else if (is_one_of(name, "source", "src"))
			column = SOURCE;
		else if (is_one_of(name, "destination", "dst"))
			column = DESTINATION;
		else if (is_one_of(name, "bytes", "size"))
			column = BYTES;
		if (column == COLUMN_COUNT)
			continue;
		if (is_known[column])
			return refuse(reader, name, "a second column %s", name);
		is_known[column] = true;
		reader->columns[column] = i;
		if (column != TIME || !name[4])
			continue;
		reader->time_unit = NULL;
		for (unsigned int unit = 0; unit < 4; unit++) {
			if (!strcmp(name + 5, units[unit]))
				reader->time_unit = units[unit];
		}
		if (!reader->time_unit)
			return refuse(reader, name, "'%.20s' is no unit of time; ns, us, ms or s",
				      name + 5);
	}
	for (unsigned int column = 0; column < COLUMN_COUNT; column++) {
		if (!is_known[column])
			return refuse(reader, reader->line, "the names have no column '%s'",
				      column_names[column]);
	}
	return 0;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static int read_quantity(struct reader *reader, enum column column, enum vl_quantity quantity,
			 const char *unit, uint64_t least, uint64_t *value)
{
	const char *cell = reader->cells[reader->columns[column]];
	size_t length = strlen(cell);
	char text[MAX_CELL + 4], error[200];
	bool is_bare = length && strchr("0123456789.", cell[length - 1]);

	if (length >= MAX_CELL)
		return refuse(reader, cell, "%s: too long", column_names[column]);
	snprintf(text, sizeof(text), "%s%s", cell, is_bare ? unit : "");
	if (vl_quantity_parse(quantity, text, least, HALF_OF_LONG, value, error, sizeof(error)))
		return refuse(reader, cell, "%s: %s", column_names[column], error);
	return 0;
}

static int read_rank(struct reader *reader, enum column column, uint32_t *rank)
{
	const char *name = reader->cells[reader->columns[column]];
	unsigned int node = vl_scenario_find_node(reader->scenario, name);

	if (node == UINT32_MAX)
		return refuse(reader, name, "%s: nothing is called '%.40s'", column_names[column],
			      name);
	*rank = reader->ranks[node];
	if (*rank == NO_RANK)
		return refuse(reader, name, "%s: '%.40s' is not among the workload's endpoints",
			      column_names[column], name);
	return 0;
}

static int read_row(struct reader *reader)
{
	struct vl_step step = {.kind = (uint8_t)reader->workload->verb};
	int status = 0;

	for (unsigned int column = 0; column < COLUMN_COUNT; column++) {
		if (reader->columns[column] >= reader->cell_count)
			return refuse(reader, reader->cells[reader->cell_count - 1],
				      "%u columns; '%s' is missing", reader->cell_count,
				      column_names[column]);
	}
	status = read_quantity(reader, TIME, VL_QUANTITY_DURATION, reader->time_unit, 0,
			       &step.earliest);
	if (!status)
		status = read_rank(reader, SOURCE, &step.source);
	if (!status)
		status = read_rank(reader, DESTINATION, &step.destination);
	if (!status)
		status = read_quantity(reader, BYTES, VL_QUANTITY_SIZE, "B", 1, &step.bytes);
	if (status)
		return status;
	if (step.source == step.destination)
		return refuse(reader, reader->cells[reader->columns[DESTINATION]],
			      "destination: is the source");
	if (vl_workload_plan_add(&reader->workload->plan, &step, NULL, 0))
		return refuse(reader, reader->line, "%s", reader->workload->plan.error);
	return 0;
}

static int read_rows(struct reader *reader)
{
	int status, first = 1;

	while ((status = next_line(reader)) > 0) {
		status = cut(reader);
		if (status)
			return status;
		if (first && reader->cells[0][0] >= 'a' && reader->cells[0][0] <= 'z')
			status = read_names(reader);
		else
			status = read_row(reader);
		if (status)
			return status;
		first = 0;
	}
	if (!status && !reader->workload->plan.step_count)
		return refuse(reader, reader->line,
			      "there is no row of time, source, destination "
			      "and bytes");
	return status;
}

/* Only a file has an end for certain. A pipe that nobody writes to is not waited for. */
static int open_file(struct reader *reader)
{
	int descriptor = open(reader->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat state;

	reader->file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
	if (descriptor >= 0 && !reader->file)
		close(descriptor);
	if (reader->file && !fstat(fileno(reader->file), &state) && S_ISREG(state.st_mode))
		return 0;
	snprintf(reader->error, reader->error_size, "%s: %s", reader->path,
		 reader->file ? "is not a file" : strerror(errno));
	return -EINVAL;
}

int vl_workload_read_trace(const struct vl_scenario *scenario, const char *path,
			   struct vl_scenario_workload *workload, char *error, size_t error_size)
{
	struct reader reader = {.scenario = scenario,
				.path = path,
				.workload = workload,
				.columns = {TIME, SOURCE, DESTINATION, BYTES},
				.time_unit = "ns",
				.error = error,
				.error_size = error_size};
	int status = open_file(&reader);

	reader.ranks = malloc(scenario->node_count * sizeof(*reader.ranks));
	if (!status && !reader.ranks) {
		snprintf(error, error_size, "out of memory");
		status = -ENOMEM;
	}
	for (unsigned int i = 0; !status && i < scenario->node_count; i++)
		reader.ranks[i] = NO_RANK;
	for (uint32_t i = 0; !status && i < workload->rank_count; i++)
		reader.ranks[workload->ranks[i]] = i;
	if (!status)
		status = read_rows(&reader);
	free(reader.ranks);
	if (reader.file)
		fclose(reader.file);
	return status;
}
