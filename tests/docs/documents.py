#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Holds README.md and docs/ to the truth: documents.py SOURCE_ROOT VERBLINE

- Every line that starts with '$ ' in a fenced block marked 'console' is run, in the order of the
  document and in one directory that has the tree's files and verbline on its PATH, and must exit
  with 0. An HTML comment on the line before the block changes that:
      <!-- not run by the tests: REASON -->
      <!-- exit status N: REASON -->
  Blocks marked as shell in another way are refused, since nobody would notice them rot.
- Every relative link leads to a file, and to a heading if it names one.
- Every path in backticks that starts with a directory of the tree exists (a part in capitals
  stands for any name).
- The dependency table of README.md names what meson.build and scripts/install-dependencies use.
- docs/scenario-keys.md is what 'verbline --generate keys' writes.
- Every subcommand of 'verbline --help' answers --help and stands in README.md."""

import glob
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\s*$")
NOT_RUN = re.compile(r"^<!-- not run by the tests: (\S.*) -->$")
EXIT_STATUS = re.compile(r"^<!-- exit status (\d+): (\S.*) -->$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
SECONDS_PER_COMMAND = 120


class Report:
    """Counts what was checked and prints what failed."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, condition, where, message):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{where}: {message}")


class Document:
    """A Markdown file split into its fenced blocks and the prose around them."""

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        self.blocks = []  # (line number, language, line before it, lines)
        self.prose = []  # (line number, line)
        block = None
        for number, line in enumerate(self.lines, 1):
            fence = FENCE.match(line)
            if block is not None and fence:
                self.blocks.append(block)
                block = None
            elif block is not None:
                block[3].append(line)
            elif fence:
                before = self.lines[number - 2] if number > 1 else ""
                block = (number, fence[1], before, [])
            else:
                self.prose.append((number, line))

    def headings(self):
        """The anchors of the headings, as the hosts of repositories make them."""
        for _, line in self.prose:
            if re.match(r"^#+ ", line):
                text = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
                yield text.replace(" ", "-")

    def commands(self):
        """(line number, command, expected exit status) of each console block that is to be run."""
        for start, language, before, lines in self.blocks:
            if language != "console" or NOT_RUN.match(before):
                continue
            status = EXIT_STATUS.match(before)
            continued = None
            for number, line in enumerate(lines, start + 1):
                if continued is not None:
                    continued += "\n" + line
                elif line.startswith("$ "):
                    begin, continued = number, line[2:]
                else:
                    continue
                if not continued.endswith("\\"):
                    yield begin, continued, int(status[1]) if status else 0
                    continued = None


def check_commands(report, document, directory, environment):
    for start, language, _, _ in document.blocks:
        report.check(language not in ("sh", "shell", "bash"), f"{document.path}:{start}",
                     "mark commands as console, each with '$ ' before it, so that they are run")
    for number, command, expected in document.commands():
        try:
            done = subprocess.run(["bash", "-c", command], cwd=directory, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=SECONDS_PER_COMMAND)
            status, output = done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            status, output = None, f"(stopped after {SECONDS_PER_COMMAND} s)"
        report.check(status == expected, f"{document.path}:{number}",
                     f"'{command}' exited with {status}, not {expected}:\n{output[-3000:]}")


def check_links(report, root, document, anchors):
    for number, line in document.prose:
        for target in LINK.findall(CODE.sub("", line)):
            if re.match(r"^[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            where = os.path.normpath(os.path.join(os.path.dirname(document.path), path)
                                     if path else document.path)
            report.check(os.path.exists(os.path.join(root, where)), f"{document.path}:{number}",
                         f"the link {target} leads to no file")
            if anchor:
                report.check(anchor in anchors.get(where, ()), f"{document.path}:{number}",
                             f"the link {target} leads to no heading")


def check_paths(report, root, document):
    directories = {entry for entry in os.listdir(root)
                   if os.path.isdir(os.path.join(root, entry)) and not entry.startswith("build")}
    for number, line in document.prose:
        for code in CODE.findall(line):
            for word in code.split():
                if word.split("/")[0] in directories and "/" in word:
                    pattern = "/".join("*" if part.isupper() and part.isalpha() else part
                                       for part in word.split("/"))
                    report.check(glob.glob(os.path.join(root, pattern)),
                                 f"{document.path}:{number}", f"there is no {word}")


def section(document, heading):
    inside = False
    for _, line in document.prose:
        if line.startswith("## "):
            inside = line[3:].strip() == heading
        elif inside:
            yield line


def check_dependencies(report, root, readme):
    rows = [line for line in section(readme, "Dependencies") if line.startswith("| ")][1:]
    cells = [[CODE.findall(cell) for cell in row.strip("|").split("|")] for row in rows]
    packages = {name for row in cells if len(row) > 1 for name in row[1]}
    required = {name for row in cells if len(row) > 2 for name in row[2]}

    installed = set(subprocess.run(
        [os.path.join(root, "scripts/install-dependencies"), "--ci", "--list"], check=True,
        capture_output=True, text=True).stdout.split())
    with open(os.path.join(root, "meson.build"), encoding="utf-8") as file:
        used = set(re.findall(r"dependency\('([^']+)'", file.read())) - {"threads"}

    where = f"{readme.path}, section Dependencies"
    for name in sorted(installed | packages):
        report.check(name in packages, where,
                     f"scripts/install-dependencies installs {name}, the table has no such package")
        report.check(name in installed, where,
                     f"the table has package {name}, scripts/install-dependencies does not")
    for name in sorted(used | required):
        report.check(name in required, where, f"meson.build uses {name}, the table does not say so")
        report.check(name in used, where, f"the table has {name}, meson.build does not use it")


def check_subcommands(report, readme, verbline):
    def ask(*arguments):
        done = subprocess.run([verbline, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SECONDS_PER_COMMAND)
        return done.returncode, done.stdout

    status, text = ask("--help")
    names = re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE)
    report.check(status == 0 and names, "verbline --help",
                 f"exited with {status} and names {len(names)} subcommands")
    whole = "\n".join(readme.lines)
    for name in names:
        status, text = ask(name, "--help")
        report.check(status == 0 and text.strip(), f"verbline {name} --help",
                     f"exited with {status}")
        report.check(f"verbline {name}" in whole, readme.path, f"'verbline {name}' is not in it")


def check_keys(report, root, verbline):
    with tempfile.TemporaryDirectory(prefix="verbline-docs-") as directory:
        path = os.path.join(directory, "keys.md")
        subprocess.run([verbline, "--generate", "keys", path], check=True)
        with open(path, encoding="utf-8") as made:
            text = made.read()
    with open(os.path.join(root, "docs/scenario-keys.md"), encoding="utf-8") as file:
        report.check(file.read() == text, "docs/scenario-keys.md",
                     "is stale; run verbline --generate keys docs/scenario-keys.md")


def main():
    if len(sys.argv) != 3:
        print(__doc__.split("\n")[0])
        return 2
    root, verbline = (os.path.abspath(argument) for argument in sys.argv[1:])
    paths = ["README.md"] + sorted(os.path.relpath(path, root)
                                   for path in glob.glob(os.path.join(root, "docs", "*.md")))
    documents = [Document(root, path) for path in paths]
    anchors = {document.path: set(document.headings()) for document in documents}
    report = Report()

    for document in documents:
        check_links(report, root, document, anchors)
        check_paths(report, root, document)
        with tempfile.TemporaryDirectory(prefix="verbline-docs-") as directory:
            for entry in os.listdir(root):
                if not entry.startswith((".", "build")):
                    os.symlink(os.path.join(root, entry), os.path.join(directory, entry))
            environment = dict(os.environ, HOME=directory,
                               PATH=os.path.dirname(verbline) + os.pathsep + os.environ["PATH"])
            check_commands(report, document, directory, environment)
    check_dependencies(report, root, documents[0])
    check_subcommands(report, documents[0], verbline)
    check_keys(report, root, verbline)

    print(f"documents: {report.passed} passed, {report.failed} failed")
    return 1 if report.failed or not report.passed else 0


if __name__ == "__main__":
    sys.exit(main())
