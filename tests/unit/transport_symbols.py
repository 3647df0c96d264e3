#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Holds the transport to its promise of no I/O, no clock, no allocation and no DPDK: the symbols
that its library leaves undefined are on a short list. transport_symbols.py LIBRARY"""

import re
import subprocess
import sys

ALLOWED = re.compile(
    r"memcpy|memmove|memset|memcmp|strcmp|strncmp|strlen"
    r"|__mem(cpy|move|set)_chk|__stack_chk_fail"  # the same, hardened by the compiler
    r"|_GLOBAL_OFFSET_TABLE_"
    r"|__u?(div|mod)ti3"  # 128-bit division of the compiler's library
    r"|__cpu_model|__cpu_indicator_init|__cpu_features2"  # which instructions there are
    r"|crc32_gzip_refl|crc16_t10dif\w*"  # ISA-L
    r"|__(asan|ubsan|sanitizer|sancov)_\w+|__(start|stop)___sancov\w+")


def symbols(library):
    """The names that the library's objects leave undefined and those that they define."""
    listed = subprocess.run(["nm", "--format=posix", library], check=True, capture_output=True,
                            text=True).stdout
    undefined, defined = set(), set()
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) >= 2 and len(fields[1]) == 1:
            (undefined if fields[1] in "Uw" else defined).add(fields[0])
    return undefined, defined


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    undefined, defined = symbols(sys.argv[1])
    if not defined:
        print(f"{sys.argv[1]} defines nothing")
        return 1
    foreign = sorted(name for name in undefined - defined if not ALLOWED.fullmatch(name))
    for name in foreign:
        print(f"the transport uses {name}")
    return 1 if foreign else 0


if __name__ == "__main__":
    sys.exit(main())
