/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Any bytes are a control message or are refused with a reason; what was taken is written again,
 * and reads the same. */

#include "apps/control/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vl_control_message message, again;
	static char text[VL_CONTROL_MAX_MESSAGE];
	char error[200] = "";
	int length;

	if (vl_control_decode((const char *)data, size, &message, error, sizeof(error))) {
		require(*error);
		return 0;
	}
	length = vl_control_encode(&message, text, sizeof(text));
	/* What was read may be shorter as it came: with names that are not known. */
	require(length > 0);
	require(!vl_control_decode(text, (size_t)length, &again, error, sizeof(error)));
	require(!memcmp(&message, &again, sizeof(message)));
	return 0;
}
