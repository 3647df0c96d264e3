#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""verbline against a Linux host with soft-RoCE in a virtual machine; scripts/interop runs it.

Every case is one conversation between a program of rdma-core (or exercise.c) and verbline, in
either role; its packets are captured on verbline's port, and 'verbline inspect' and 'verbline
replay' must find nothing wrong with them. Needs root. Exit status: 0 all passed, 1 not, 77 it
cannot run here."""

import argparse
import concurrent.futures
import fnmatch
import hashlib
import itertools
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

import cases  # pylint: disable=wrong-import-position
import machine
import segment
import verbline
from capture import Capture
from loss import Loss

SKIPPED = 77
SOURCE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ("qemu-system-x86_64", "ip", "ethtool", "unshare", "apt-get", "cc", "xz", "gzip")
START_SECONDS = 30
CASE_SECONDS = 120  # far more than any takes, with emulation and a timeout or two


class Failure(Exception):
    """What was wrong with a case."""


def need(condition, message):
    if not condition:
        raise Failure(message)


def skip(reason):
    print(f"skipped: {reason}\ninterop: 0 passed, 0 failed, 1 skipped")
    sys.exit(SKIPPED)


def why_not():
    """Why the suite cannot run here, or None."""
    if os.geteuid() != 0:
        return "it needs root, for network namespaces"
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)} missing: scripts/install-dependencies --interop"
    if not os.path.exists("/usr/include/rdma/rdma_cma.h"):
        return "librdmacm-dev is missing: scripts/install-dependencies --interop"
    if not os.access("/dev/net/tun", os.W_OK):
        return "/dev/net/tun is missing"
    return None


def build_image(directory):
    """Builds the guest's image unless the directory has it from the same sources."""
    digest = hashlib.sha256()
    for name in ("build-image", "guest-init", "guest-command", "exercise.c"):
        with open(os.path.join(SOURCE, name), "rb") as file:
            digest.update(file.read())
    stamp = os.path.join(directory, "sources.sha256")
    if os.path.exists(stamp):
        with open(stamp, encoding="ascii") as file:
            if file.read() == digest.hexdigest():
                return
    start = time.monotonic()
    done = subprocess.run([os.path.join(SOURCE, "build-image"), directory], text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        if re.search("Failed to fetch|Unable to locate|Temporary failure|Can't select", done.stdout):
            skip("the guest's packages cannot be downloaded (apt-get update may help):\n"
                 + done.stdout[-500:])
        sys.exit(done.stdout + f"\nbuild-image: exit status {done.returncode}")
    with open(stamp, "w", encoding="ascii") as file:
        file.write(digest.hexdigest())
    print(f"built the guest's image in {time.monotonic() - start:.1f} s", flush=True)


class Suite:
    """The guest, verbline as a server while Linux is the client, and the results."""

    def __init__(self, program, guest, directory):
        self.program = program
        self.guest = guest
        self.directory = directory
        self.mtu = None
        self.endpoint = None
        self.passed = self.failed = 0
        self.lock = threading.Lock()
        self.lanes = queue.SimpleQueue()
        for lane in range(verbline.LANES):
            self.lanes.put(lane)

    def path(self, name):
        return os.path.join(self.directory, name)

    def set_mtu(self, mtu):
        if self.mtu != mtu:
            self.stop_endpoint()
            segment.set_mtu(mtu)
            self.guest.run(f"ip link set roce0 mtu {mtu}")
            self.mtu = mtu

    def start_endpoint(self):
        """The server of all cases with one MTU in which Linux is the client. By the main thread,
        with which it ends."""
        self.endpoint = verbline.Process(self.program, verbline.SERVER, self.mtu,
                                         self.path(f"endpoint-{self.mtu}.log"), verbline.LANES)
        self.endpoint.wait(START_SECONDS, "(?i)listening")

    def stop_endpoint(self):
        """Counts as a case: it must have survived, and end well."""
        if not self.endpoint:
            return
        endpoint, self.endpoint = self.endpoint, None
        alive = endpoint.status is None
        status = endpoint.stop()
        problem = None
        if not alive or status != 0:
            problem = (f"exit status {status}, {'at the end' if alive else 'before the end'}:\n"
                       + endpoint.output()[-3000:])
        self.result(f"endpoint-survives-{self.mtu}", problem, 0)

    def run_linux_client(self, case, address):
        need(self.endpoint.status is None, "verbline endpoint has ended")
        client = machine.Command(case.client.format(address=address))
        ended = client.wait(CASE_SECONDS)
        self.note(case, f"# Linux: {client.script}\n{client.output}# exit status {client.status}\n")
        need(ended, "Linux's client did not end")
        need(client.status == 0, f"Linux's client: exit status {client.status}")
        need(re.search(case.client_prints, client.output), "Linux's client did not print "
             + case.client_prints)

    def run_linux_server(self, case, _):
        address = machine.ADDRESSES[case.family]
        # Nothing of the programs says when they listen; the kernel does.
        server = machine.Command(
            f"timeout {CASE_SECONDS} {case.server.format(address=address)} & server=$!\n"
            "until rdma resource show cm_id | grep -q LISTEN; do\n"
            "    kill -0 $server || break; sleep 0.05\ndone\necho server-listens\nwait $server")
        need(server.wait(START_SECONDS, "server-listens"), "Linux's server did not start:\n"
             + server.output)
        client = verbline.Process(self.program, case.verbline_client.format(address=address),
                                  self.mtu, self.path(f"{case.name}.verbline"))
        ended = client.wait(CASE_SECONDS)
        status = client.stop()
        server_ended = server.wait(10)
        if not server_ended:
            self.guest.run(f"killall {case.server.split()[0]}")
            server.wait(10)
        self.note(case, f"# {client.command}\n{client.output()}# exit status {status}\n"
                  f"# Linux: {case.server.format(address=address)}\n{server.output}"
                  f"# exit status {server.status}\n")
        output = client.output()
        os.unlink(client.log)
        need(ended, "verbline did not end")
        need(status == case.verbline_status, f"verbline: exit status {status}")
        need(re.search(case.verbline_prints, output), "verbline did not print "
             + case.verbline_prints)
        need(server_ended, "Linux's server did not end")
        need(server.status == 0, f"Linux's server: exit status {server.status}")
        need(re.search(case.server_prints, server.output), "Linux's server did not print "
             + case.server_prints)

    def note(self, case, text):
        with open(self.path(f"{case.name}.log"), "a", encoding="utf-8") as file:
            file.write(text)

    def run_case(self, case, lane):
        run = self.run_linux_client if case.role == cases.LINUX_CLIENT else self.run_linux_server
        address = verbline.ADDRESSES[case.family][lane]
        pcap = self.path(f"{case.name}.pcap")
        loss = Loss(self.guest, lane, case.family, address, case.lost) if case.lost else None
        capture = Capture(segment.DUT_BRIDGE_END, address, pcap)
        try:
            run(case, address)
        finally:
            capture.close()
            lost = loss.end() if loss else {}
        for direction, numbers in case.lost.items():
            need(lost[direction] == len(numbers),
                 f"{lost[direction]} packets were lost {direction}, not {len(numbers)}")
        need((capture.count > 0) == case.is_roce, f"{capture.count} RoCE packets were captured")
        problem = verbline.check_capture(self.program, pcap)
        need(not problem, problem)

    def result(self, name, problem, seconds):
        with self.lock:
            if problem is None:
                self.passed += 1
                print(f"ok      {name} ({seconds:.1f} s)", flush=True)
            else:
                self.failed += 1
                print(f"FAILED  {name} ({seconds:.1f} s): {problem}", flush=True)

    def judge_case(self, case):
        is_client = case.role == cases.LINUX_CLIENT
        lane = self.lanes.get() if is_client else 0
        start = time.monotonic()
        problem = None
        log = self.path(f"{case.name}.log")
        if os.path.exists(log):
            os.unlink(log)
        try:
            self.run_case(case, lane)
        except (Failure, machine.GuestError) as failure:
            problem = str(failure)
            if os.path.exists(log):
                with open(log, encoding="utf-8") as file:
                    problem += "\n" + file.read()[-4000:]
        if is_client:
            self.lanes.put(lane)
        self.result(case.name, problem, time.monotonic() - start)

    def run(self, selected):
        """Linux's clients at the same time, as most of the time they wait for a timeout; verbline's
        one after the other, as each has the port for itself."""
        for (mtu, role), group in itertools.groupby(selected, lambda case: (case.mtu, case.role)):
            self.set_mtu(mtu)
            lanes = 1
            if role == cases.LINUX_CLIENT:
                lanes = verbline.LANES
                self.start_endpoint()
            with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
                for _ in pool.map(self.judge_case, group):
                    pass
            self.stop_endpoint()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="verbline")
    parser.add_argument("--directory", required=True, help="takes captures and logs")
    parser.add_argument("--image", required=True, help="of the guest; built if need be")
    parser.add_argument("--list", action="store_true", help="print the cases' names")
    parser.add_argument("patterns", nargs="*", help="run only cases that match one of these")
    arguments = parser.parse_args()

    patterns = arguments.patterns or ["*"]
    selected = [case for case in cases.all_cases()
                if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns)]
    if arguments.list:
        print("\n".join(case.name for case in selected))
        return 0
    if not selected:
        sys.exit("no case matches")
    reason = why_not()
    if reason:
        skip(reason)

    build_image(arguments.image)
    os.makedirs(arguments.directory, exist_ok=True)
    segment.enter_namespace()
    segment.set_up()
    guest = machine.Machine(arguments.image, arguments.directory)
    suite = Suite(os.path.abspath(arguments.program), guest, arguments.directory)
    start = time.monotonic()
    try:
        print(f"the guest was up after {guest.wait_until_up():.1f} s, with {guest.accelerator}",
              flush=True)
        suite.run(selected)
    finally:
        guest.stop()
    print(f"took {time.monotonic() - start:.0f} s")
    print(f"interop: {suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
