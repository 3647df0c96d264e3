/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Text of others, of which nothing may act on a terminal. */
#ifndef VERBLINE_APPS_REPORT_PRINTABLE_H
#define VERBLINE_APPS_REPORT_PRINTABLE_H

/* Makes control characters question marks, those of ASCII and those that UTF-8 has besides
 * (U+0080 to U+009F, c2 80 to c2 9f). */
static inline void vl_make_printable(char *text)
{
	unsigned char before = 0;

	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f ||
		    (before == 0xc2 && byte >= 0x80 && byte <= 0x9f)) {
			if (before == 0xc2)
				text[-1] = '?';
			*text = '?';
		}
		before = byte;
	}
}

#endif
