# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Writes a C file with the given scenarios as strings: embed.py OUTPUT INPUT..."""

import os
import sys


def quote(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main():
    output, inputs = sys.argv[1], sys.argv[2:]
    lines = ['#include "apps/scenario/scenario.h"', "",
             "const struct vl_ready_scenario vl_ready_scenarios[] = {"]
    for path in inputs:
        name = os.path.splitext(os.path.basename(path))[0]
        lines.append(f'\t{{"{name}",')
        with open(path, encoding="utf-8") as file:
            lines += ["\t " + quote(line) for line in file.read().splitlines()]
        lines.append("\t},")
    lines += ["};", "", f"const unsigned int vl_ready_scenario_count = {len(inputs)};"]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
