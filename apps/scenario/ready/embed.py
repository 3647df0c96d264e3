# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Writes a C file with the given YAML files as strings, in an array of a structure that has a name
and a text, and their count: embed.py HEADER STRUCTURE OUTPUT INPUT..."""

import os
import sys


def quote(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main():
    header, structure, output, inputs = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    lines = [f'#include "{header}"', "", f"const struct {structure} {structure}s[] = {{"]
    for path in inputs:
        name = os.path.splitext(os.path.basename(path))[0]
        lines.append(f'\t{{"{name}",')
        with open(path, encoding="utf-8") as file:
            lines += ["\t " + quote(line) for line in file.read().splitlines()]
        lines.append("\t},")
    lines += ["};", "", f"const unsigned int {structure}_count = {len(inputs)};"]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
