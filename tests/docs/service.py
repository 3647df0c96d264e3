#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Holds the systemd unit to what systemd says of it: service.py UNIT VERBLINE

- systemd-analyze finds nothing wrong with an instance, the program being the one just built
- the options that the unit names are the command's"""

import os
import re
import shutil
import subprocess
import sys
import tempfile


def main():
    unit, verbline = sys.argv[1:]
    with open(unit, encoding="utf-8") as file:
        text = file.read()
    failures = []
    command = re.search(r"^ExecStart=(\S+) (.*)$", text, re.MULTILINE)
    words = command[2].split()
    known = subprocess.run([verbline, words[0], "--help"], capture_output=True, text=True).stdout
    if not known:
        failures.append(f"verbline has no command '{words[0]}'")
    for word in words[1:]:
        if word.startswith("--") and word not in known:
            failures.append(f"verbline {words[0]} has no {word}")
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is not installed")
        return 1 if failures else 77
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "verbline-endpoint@test.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(command[1], os.path.abspath(verbline)))
        result = subprocess.run(["systemd-analyze", "verify", "--man=no", path],
                                capture_output=True, text=True)
        # Of the machine's own units, which it reads too, nothing is ours.
        said = [line for line in (result.stdout + result.stderr).splitlines()
                if "verbline" in line]
        if said:
            failures.append("systemd-analyze: " + "\n".join(said))
    for failure in failures:
        print(failure)
    print(f"service: {2 - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
