# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""verbline as a process on the segment."""

import os
import re
import signal
import subprocess
import time

import segment
from machine import die_with_parent

UCMATOSE_SIZE = 5000
# As many conversations may go on at a time with the one endpoint, each with addresses of its own.
LANES = 4
ADDRESSES = {"ipv4": [f"10.77.0.{50 + lane}" for lane in range(LANES)],
             "ipv6": [f"fd77::{50 + lane}" for lane in range(LANES)]}
# ucmatose's server sends as much as its client sends, and has to be told how much that is.
SERVER = f"endpoint --ucmatose-size {UCMATOSE_SIZE}"
PREFIXES = {"ipv4": 24, "ipv6": 64}


class Process:
    """A command of verbline on the segment's port; its output goes to a file."""

    def __init__(self, program, command, mtu, log, lanes=1):
        words = [program, *command.split(), "--port", f"af_packet:{segment.DUT}",
                 "--mtu", str(mtu)]
        for family, addresses in ADDRESSES.items():
            for address in addresses[:lanes]:
                words += ["--ip", f"{address}/{PREFIXES[family]}"]
        self.command = " ".join(words)
        self.log = log
        with open(log, "wb") as file:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file,
                                            stderr=subprocess.STDOUT, preexec_fn=die_with_parent)

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait(self, seconds, until=None):
        """Waits until it ends, or a pattern is in its output. Returns whether that came."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if until and re.search(until, self.output()):
                return True
            if self.process.poll() is not None:
                return until is None or bool(re.search(until, self.output()))
            time.sleep(0.02)
        return False

    @property
    def status(self):
        return self.process.poll()

    def stop(self, seconds=10):
        """As Ctrl-C does; returns the exit status, or None if it had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                return None
        return self.process.returncode


def check_capture(program, path):
    """What inspect and replay find wrong with a capture; an empty text: nothing."""
    problems = []
    for command in ("inspect", "replay"):
        done = subprocess.run([program, command, path], capture_output=True, text=True, check=False,
                              timeout=60, env={**os.environ, "NO_COLOR": "1"})
        if done.returncode != 0:
            problems.append(f"verbline {command} {path}: exit status {done.returncode}\n"
                            + done.stdout + done.stderr)
    return "\n".join(problems)
