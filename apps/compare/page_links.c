/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Where links were held back: a row a link, a column a group. */

#include "apps/compare/page.h"

#include <math.h>
#include <string.h>

#define MAX_LINKS   24u
#define NAME_WIDTH  210
#define CELL_WIDTH  106
#define CELL_HEIGHT 24
#define HEAD        38
/* Cells darker than this need light text. */
#define DARK 0.55
/* Of the run; what was held back for shorter is not worth a row. */
#define LEAST_PART 0.0005

static const struct vl_record_link *find_link(const struct vl_record *record,
					      const struct vl_record_link *like)
{
	for (unsigned int i = 0; i < record->head.link_count; i++) {
		if (!strcmp(record->links[i].from, like->from) &&
		    !strcmp(record->links[i].to, like->to))
			return &record->links[i];
	}
	return NULL;
}

/* Of the run, 0..1: the priority or lane that was paused or without credits longest. */
static double held_back(const struct vl_record *record, const struct vl_record_link *link)
{
	return fmax((double)link->longest_paused_ns, (double)link->longest_stalled_ns) /
	       (record->head.end ? (double)record->head.end : 1);
}

/* The links of the first group, those that were held back longest anywhere first. */
struct row {
	const struct vl_record_link *link;
	double most;
};

static unsigned int choose_links(const struct vl_page *page, struct row rows[MAX_LINKS],
				 unsigned int *left)
{
	const struct vl_record *first = page->groups[0].record;
	const struct vl_record_link *link;
	unsigned int count = 0, at;
	double most;

	*left = 0;
	for (unsigned int i = 0; i < first->head.link_count; i++) {
		most = 0;
		for (unsigned int n = 0; n < page->group_count; n++) {
			link = find_link(page->groups[n].record, &first->links[i]);
			if (link && held_back(page->groups[n].record, link) > most)
				most = held_back(page->groups[n].record, link);
		}
		if (most < LEAST_PART)
			continue;
		for (at = count; at && rows[at - 1].most < most; at--) {
			if (at < MAX_LINKS)
				rows[at] = rows[at - 1];
		}
		if (at < MAX_LINKS)
			rows[at] = (struct row){&first->links[i], most};
		if (count < MAX_LINKS)
			count++;
		else
			++*left;
	}
	return count;
}

static void put_cell(const struct vl_page *page, const struct vl_page_group *group,
		     const struct row *row, double x, double y)
{
	const struct vl_record_link *link = find_link(group->record, row->link);
	char tip[400], paused[VL_QUANTITY_TEXT], stalled[VL_QUANTITY_TEXT];
	double part;

	if (!link)
		return;
	part = held_back(group->record, link);
	snprintf(tip, sizeof(tip), "%s to %s on %s: paused %s, without credits %s, used %.1f %%",
		 link->from, link->to, group->label,
		 vl_quantity_text(VL_QUANTITY_DURATION, link->paused_ns, paused),
		 vl_quantity_text(VL_QUANTITY_DURATION, link->stalled_ns, stalled),
		 link->utilization * 100);
	vl_svg_cell(page->out, x, y, CELL_WIDTH - 2, CELL_HEIGHT - 2, "cell", 1, NULL);
	vl_svg_cell(page->out, x, y, CELL_WIDTH - 2, CELL_HEIGHT - 2, "heat", part, tip);
	vl_svg_text(page->out, x + CELL_WIDTH / 2.0 - 1, y + CELL_HEIGHT / 2.0 + 3, "middle",
		    part > DARK ? "value on-heat" : "value", part > 0 ? "%.1f %%" : "%.0f",
		    part * 100);
}

static void put_matrix(const struct vl_page *page, const struct row *rows, unsigned int count)
{
	int width = NAME_WIDTH + CELL_WIDTH * (int)page->group_count + 4;
	char text[VL_PLAN_LABEL];
	double y;

	vl_svg_begin(page->out, width, HEAD + CELL_HEIGHT * (int)count + 4,
		     "Share of the run that each link was held back, by fabric");
	for (unsigned int i = 0; i < page->group_count; i++)
		vl_svg_text(page->out, NAME_WIDTH + CELL_WIDTH * (i + 0.5), HEAD - 10, "middle",
			    "value strong", "%s", vl_page_short(page->groups[i].label, 16, text));
	for (unsigned int n = 0; n < count; n++) {
		y = HEAD + CELL_HEIGHT * (double)n;
		vl_svg_text(page->out, NAME_WIDTH - 10, y + CELL_HEIGHT / 2.0 + 3, "end", "value",
			    "%s \xe2\x86\x92 %s", rows[n].link->from, rows[n].link->to);
		for (unsigned int i = 0; i < page->group_count; i++)
			put_cell(page, &page->groups[i], &rows[n], NAME_WIDTH + CELL_WIDTH * i, y);
	}
	vl_svg_end(page->out);
}

void vl_page_links(const struct vl_page *page)
{
	struct row rows[MAX_LINKS];
	unsigned int left, count = choose_links(page, rows, &left);

	if (!page->groups[0].record->head.link_count)
		return;
	vl_html_section(page->out, "links", "Where links were held back");
	if (!count) {
		vl_html_paragraph(page->out, "note",
				  "No link was paused or ran out of credits for longer than "
				  "0.05 %% of a run.");
		vl_html_section_end(page->out);
		return;
	}
	vl_html_paragraph(page->out, "note",
			  "Share of the whole run in which a direction of a link might not send: "
			  "paused by PFC (RoCEv2), or with a packet to send but no credits for it "
			  "(InfiniBand, where senders of a congested port wait so as a matter of "
			  "course). Of several priorities or lanes, the one that waited longest. "
			  "Rest the pointer on a cell for both times, all of them added.");
	fputs("<figure class=\"scroll\">", page->out);
	put_matrix(page, rows, count);
	fputs("</figure>\n", page->out);
	if (left)
		vl_html_paragraph(
			page->out, "note",
			"The %u links that were held back longest; %u more are in the CSV "
			"and JSON files.",
			count, left);
	vl_html_section_end(page->out);
}
