#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Tests of scripts/ themselves: what counts the tests and what holds the layers must not be fooled.
scripts.py SOURCE_ROOT"""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)


def load(name):
    """A script of scripts/ as a module, without leaving compiled files beside it."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"),
                                                  os.path.join(ROOT, "scripts", name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class TestSummary(unittest.TestCase):
    """What a line of meson's test log counts as: (passed, failed, skipped)."""

    def count(self, result, stdout=None):
        return load("test-summary").count({"result": result, "stdout": stdout})

    def test_suite_counts_as_its_tests(self):
        self.assertEqual(self.count("OK", "noise\nwire: 12 passed, 0 failed\n"), (12, 0, 0))
        self.assertEqual(self.count("OK", "wire: 9 passed, 0 failed, 3 skipped\n"), (9, 0, 3))
        self.assertEqual(self.count("FAIL", "wire: 10 passed, 2 failed\n"), (10, 2, 0))

    def test_last_line_is_taken(self):
        self.assertEqual(self.count("OK", "a: 1 passed, 0 failed\nb: 2 passed, 0 failed\n"),
                         (2, 0, 0))

    def test_silent_test_counts_as_one(self):
        self.assertEqual(self.count("OK"), (1, 0, 0))
        self.assertEqual(self.count("FAIL", "no counts"), (0, 1, 0))
        self.assertEqual(self.count("SKIP"), (0, 0, 1))

    def test_crash_and_timeout_are_failures(self):
        self.assertEqual(self.count("ERROR", "  Test: parse ..."), (0, 1, 0))
        self.assertEqual(self.count("TIMEOUT", "  Test: parse ..."), (0, 1, 0))
        # As a sanitizer's report of a leak after the last test.
        self.assertEqual(self.count("FAIL", "wire: 12 passed, 0 failed\n"), (12, 1, 0))

    def test_nothing_ran_is_a_failure(self):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([os.path.join(ROOT, "scripts/test-summary"), directory],
                                  capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "0 passed, 0 failed\n")


class CheckIncludes(unittest.TestCase):
    """What scripts/check-includes says of a source file."""

    def problems(self, path, text, others=()):
        module = load("check-includes")
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            try:
                for name in (path, *others):
                    os.makedirs(os.path.dirname(name), exist_ok=True)
                    with open(name, "w", encoding="utf-8") as file:
                        file.write(text if name == path else "")
                return list(module.check_source(path))
            finally:
                os.chdir(before)

    def test_allowed(self):
        self.assertEqual(self.problems("apps/a.c", '#include "dataplane/b.h"\n\n#include <stdio.h>\n',
                                       ["dataplane/b.h"]), [])

    def test_wrong_direction(self):
        for path, header in (("transport/a.c", "dataplane/b.h"), ("dataplane/a.c", "apps/b.h"),
                             ("transport/a.h", "apps/b.h"), ("apps/a.c", "tests/b.h")):
            self.assertEqual(len(self.problems(path, f'#include "{header}"\n', [header])), 1, path)

    def test_impure_transport(self):
        for header in ("rte_mbuf.h", "stdio.h", "time.h", "stdlib.h", "math.h", "unistd.h"):
            self.assertEqual(len(self.problems("transport/a.c", f"#include <{header}>\n")), 1,
                             header)

    def test_path_not_from_root(self):
        for header in ("b.h", "../dataplane/b.h", "dataplane/../apps/b.h"):
            self.assertTrue(self.problems("apps/a.c", f'#include "{header}"\n',
                                          ["apps/b.h", "dataplane/b.h"]), header)

    def test_own_header_first(self):
        text = '#include "dataplane/b.h"\n#include "dataplane/a.h"\n'
        self.assertEqual(len(self.problems("dataplane/a.c", text,
                                           ["dataplane/a.h", "dataplane/b.h"])), 1)
        text = '#include "dataplane/b.h"\n'
        self.assertEqual(len(self.problems("dataplane/a.c", text,
                                           ["dataplane/a.h", "dataplane/b.h"])), 1)

    def test_order(self):
        lines = ['#include "dataplane/a.h"', "", '#include "dataplane/b.h"', "",
                 "#include <rte_mbuf.h>", "", "#include <errno.h>", "#include <stdio.h>"]
        stdio_before_errno = lines[:6] + [lines[7], lines[6]]
        project_behind_rte = lines[:2] + [lines[4], "", lines[2]]
        for text, count in ((lines, 0), (lines[:1] + lines[2:], 1), (stdio_before_errno, 1),
                            (project_behind_rte, 1)):
            self.assertEqual(len(self.problems("dataplane/a.c", "\n".join(text),
                                               ["dataplane/a.h", "dataplane/b.h"])), count, text)

    def test_version_of_dpdk(self):
        text = "#if RTE_VERSION >= 1\n#endif\n"
        self.assertEqual(len(self.problems("dataplane/port/a.c", text)), 1)
        self.assertEqual(self.problems("dataplane/runtime/compat.h", text), [])


class InstallDependencies(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([os.path.join(ROOT, "scripts/install-dependencies"), *arguments],
                              capture_output=True, text=True)

    def test_list(self):
        packages = self.run_script("--list").stdout.split()
        self.assertIn("libdpdk-dev", packages)
        self.assertLess(set(packages), set(self.run_script("--ci", "--list").stdout.split()))

    def test_wrong_usage(self):
        done = self.run_script("--everything")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("usage", done.stderr)


def main():
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    failed = len(result.failures) + len(result.errors)
    print(f"scripts: {result.testsRun - failed} passed, {failed} failed")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
