/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* SONiC configurations in which nothing is wrong, to be bent by tests. */
#ifndef VERBLINE_TESTS_CONFIG_DB_H
#define VERBLINE_TESTS_CONFIG_DB_H

#include <jansson.h>

/* Of SONiC's generator's form for a switch of a static buffer model with 16 MB: ports of 100 Gb/s
 * on four lanes each with 40 m of cable (Ethernet0, Ethernet4, ...), classes 3 and 4 lossless. */
json_t *config_db_100g(unsigned int ports);
/* Of 64 ports of 400 Gb/s, of which every eighth is four of 100 Gb/s instead; 114 MB. */
json_t *config_db_400g(void);
/* Of the dynamic buffer model: lossless profiles and pool sizes are made at run time. */
json_t *config_db_dynamic(void);

/* Sets TABLE|key|field, or removes it (text NULL), or the entry (field NULL), or the table (key
 * NULL). '*' at the start of key stands for each port ("*|3-4"). Text that begins with "json:" is
 * JSON, other text a string. */
void config_db_edit(json_t *root, const char *table, const char *key, const char *field,
		    const char *text);

#endif
