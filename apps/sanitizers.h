/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which sanitizers this is built with: gcc defines macros, clang answers when asked. */
#ifndef VERBLINE_APPS_SANITIZERS_H
#define VERBLINE_APPS_SANITIZERS_H

#ifdef __has_feature
#define VL_HAS_FEATURE(name) __has_feature(name)
#else
#define VL_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || VL_HAS_FEATURE(address_sanitizer)
#define VL_ADDRESS_SANITIZER 1
#else
#define VL_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || VL_HAS_FEATURE(thread_sanitizer)
#define VL_THREAD_SANITIZER 1
#else
#define VL_THREAD_SANITIZER 0
#endif

#endif
