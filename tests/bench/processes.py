#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Two verbline processes, 'endpoint' and 'gen', over memif and over a veth pair by af_packet: RC
WRITE of 64 KiB at path MTU 4096, with ACKs, every ICRC made and checked. Beside it, from the same
run, two dpdk-testpmd that move frames of 4158 bytes over the same. Each process has a CPU, and
real-time priority, as what else the machine does would be measured otherwise.

  processes.py VERBLINE [--kind memif|veth] [--seconds N] [--quick] [--require PART] [--json FILE]

Needs root. Exit status: 0, 1 a run failed or was below --require of testpmd's packets a second,
2 wrong usage, 77 nothing could be run.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FRAME = 4158
ROUNDS = 2
HUGEPAGES = 400
HUGEPAGE_FILE = "/proc/sys/vm/nr_hugepages"


class Pair:
    """The two ends of a kind, as verbline and as DPDK name them."""

    def __init__(self, kind, directory):
        self.kind = kind
        self.buffer = 4608 if kind == "memif" else 8448  # of testpmd, what its device wants
        if kind == "memif":
            socket = os.path.join(directory, "socket")
            self.ports = [f"memif:{socket},server", f"memif:{socket},client"]
            self.devices = [f"net_memif0,role={role},socket={socket},socket-abstract=no,bsize=4224"
                            for role in ("server", "client")]
        else:
            self.ports = ["af_packet:bench0", "af_packet:bench1"]
            self.devices = [f"net_af_packet0,iface=bench{end},blocksz=65536,framesz=8192,"
                            f"framecnt=512,qdisc_bypass=1" for end in (0, 1)]


def run(cpu, arguments, output):
    priority = ["chrt", "-r", "1"] if shutil.which("chrt") else []
    return subprocess.Popen(["taskset", "-c", str(cpu)] + priority + arguments,
                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)


def stop(process):
    process.send_signal(signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def testpmd(cpu, pair, end, memory, arguments, output):
    eal = ["dpdk-testpmd", "--lcores", f"0@{cpu},1@{cpu}", "--no-pci", "--no-telemetry",
           "--file-prefix", f"bench{os.getpid()}-{cpu}", "-m", "128", "--vdev",
           pair.devices[end]] + memory
    return run(cpu, eal + ["--", "--stats-period=1", "--auto-start", "--total-num-mbufs=4096",
                           f"--mbuf-size={pair.buffer}"] + arguments, output)


def measure_testpmd(pair, cpus, seconds, hugepages):
    """Packets a second that arrive."""
    memory = ["--in-memory"] if hugepages else ["--no-huge"]
    with tempfile.TemporaryFile("w+") as received, tempfile.TemporaryFile("w+") as sent:
        receiver = testpmd(cpus[0], pair, 0, memory, ["--forward-mode=rxonly"], received)
        time.sleep(1)
        sender = testpmd(cpus[1], pair, 1, memory,
                         ["--forward-mode=txonly", f"--txpkts={FRAME}"], sent)
        time.sleep(max(seconds, 2) + 2)
        stop(sender)
        stop(receiver)
        received.seek(0)
        rates = [int(rate) for rate in re.findall(r"Rx-pps:\s*(\d+)", received.read())]
    return max(rates, default=0)


def measure_verbline(verbline, pair, cpus, seconds, directory):
    """Data packets a second of completed messages."""
    result = os.path.join(directory, "result.json")
    with tempfile.TemporaryFile("w+") as log:
        endpoint = run(cpus[0], [verbline, "endpoint", "--port", pair.ports[0],
                                 "--ip", "10.99.0.1/24", "--mtu", "4240"], log)
        time.sleep(1.5)
        gen = run(cpus[1], [verbline, "gen", "--port", pair.ports[1], "--ip", "10.99.0.2/24",
                            "--mtu", "4240", "--to", "10.99.0.1", "--duration", f"{seconds}s",
                            "--warm-up", "200ms", "--depth", "4", "--cc", "none",
                            "--size", "64KiB", "--no-checks", "--json", result], log)
        try:
            gen.wait(seconds + 30)
        except subprocess.TimeoutExpired:
            stop(gen)
        stop(endpoint)
        log.seek(0)
        said = log.read()
    if gen.returncode or not os.path.exists(result):
        print(said, file=sys.stderr)
        return 0, {}
    with open(result) as file:
        report = json.load(file)
    os.remove(result)
    group = report["groups"][0]
    return group["goodput_bps"] / 8 / 4096, group


def make_veth():
    commands = [["ip", "link", "add", "bench0", "mtu", "9000", "type", "veth", "peer", "name",
                 "bench1", "mtu", "9000"],
                ["ip", "link", "set", "bench0", "up"], ["ip", "link", "set", "bench1", "up"]]
    for command in commands:
        subprocess.run(command, check=True)
    time.sleep(1)


def measure(verbline, kind, seconds, hugepages):
    cpus = sorted(os.sched_getaffinity(0))[:2]
    best = {"kind": kind, "verbline_pps": 0, "testpmd_pps": 0}
    if len(cpus) < 2:
        sys.exit("processes.py: two CPUs are needed, one for each process")
    if kind == "veth":
        make_veth()
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(ROUNDS):
            pair = Pair(kind, directory)
            if shutil.which("dpdk-testpmd"):
                rate = measure_testpmd(pair, cpus, seconds, hugepages)
                best["testpmd_pps"] = max(best["testpmd_pps"], rate)
            rate, group = measure_verbline(verbline, pair, cpus, seconds, directory)
            if rate > best["verbline_pps"]:
                best["verbline_pps"] = rate
                best["goodput_gbps"] = group["goodput_bps"] / 1e9
    return best


def set_hugepages(count):
    try:
        with open(HUGEPAGE_FILE, "r+") as file:
            before = int(file.read())
            file.seek(0)
            file.write(str(max(before, count)))
        return before
    except OSError:
        return None


def show(result):
    part = result["verbline_pps"] / result["testpmd_pps"] if result["testpmd_pps"] else None
    print(f"{result['kind']}: RC WRITE 64 KiB, path MTU 4096: "
          f"{result['verbline_pps'] / 1e6:.3f} M data packets/s, "
          f"{result.get('goodput_gbps', 0):.2f} Gb/s goodput")
    if part is None:
        print("  testpmd: not measured, as dpdk-testpmd is not there (Debian: dpdk-dev), or "
              "moved nothing")
    else:
        print(f"  testpmd, {FRAME} B: {result['testpmd_pps'] / 1e6:.3f} M packets/s; verbline's "
              f"are {part:.2f} of it")
    return part


def run_kinds(options):
    kinds = [options.kind] if options.kind else ["memif", "veth"]
    seconds = 1 if options.quick else options.seconds
    before = set_hugepages(HUGEPAGES)
    results, failed = [], False
    try:
        for kind in kinds:
            result = measure(options.verbline, kind, seconds, before is not None)
            part = show(result)
            failed |= not result["verbline_pps"]
            failed |= bool(options.require and part is not None and part < options.require)
            results.append(result)
    finally:
        if before is not None:
            with open(HUGEPAGE_FILE, "w") as file:
                file.write(str(before))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"benchmark": "processes", "results": results}, file, indent=2)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description="verbline and testpmd between two processes")
    parser.add_argument("verbline")
    parser.add_argument("--kind", choices=["memif", "veth"])
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--require", type=float)
    parser.add_argument("--json")
    options = parser.parse_args()
    if os.geteuid():
        print("skipped: needs root")
        return 77
    if os.environ.get("VERBLINE_BENCH_NAMESPACE") is None and shutil.which("unshare"):
        # The veth pair goes with the namespace, however the run ends.
        os.environ["VERBLINE_BENCH_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable] + sys.argv)
    return run_kinds(options)


if __name__ == "__main__":
    sys.exit(main())
