# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""The telemetry socket of running commands, and the exporter's endpoint file on it:
telemetry.py VERBLINE ENDPOINT_FILE PCAPS

The endpoint is loaded and asked as dpdk-telemetry-exporter does it."""

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

failures = checks = 0


def check(condition, message):
    global failures, checks
    checks += 1
    if not condition:
        failures += 1
        print(f"FAILED: {message}")


class Socket:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self.length = json.loads(self.socket.recv(1024).decode())["max_output_len"]

    def cmd(self, uri, arg=None):
        self.socket.send((uri if arg is None else f"{uri},{arg}").encode())
        return json.loads(self.socket.recv(self.length).decode())[uri]


class Running:
    """A command with a telemetry socket, ended at the end of the block."""

    def __init__(self, *arguments):
        self.name = f"vlt-{os.getpid()}"
        self.path = f"/run/dpdk/{self.name}/dpdk_telemetry.v2"
        self.process = subprocess.Popen([*arguments, "--telemetry", self.name],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __enter__(self):
        for _ in range(100):
            try:
                sock = Socket(self.path)
                if sock.cmd("/verbline/info"):
                    return sock
            except (OSError, KeyError):
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.process.kill()
        raise SystemExit("no telemetry: " + self.process.communicate()[0].decode())

    def __exit__(self, *_):
        self.process.terminate()
        output = self.process.communicate(timeout=20)[0].decode()
        check(self.process.returncode == 0, f"ended with {self.process.returncode}: {output}")
        check(not os.path.exists(os.path.dirname(self.path)), f"{self.path} was left behind")


def load(path):
    spec = importlib.util.spec_from_file_location("verbline", path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def export(endpoint, sock):
    """The metrics, as the exporter takes them: every one described, numbers, in Prometheus' words."""
    described = endpoint.info()
    for name, (description, kind) in described.items():
        check(re.fullmatch(r"\w+", name) and description and kind in ("counter", "gauge"), name)
    metrics = endpoint.metrics(sock)
    seen = {}
    for name, value, labels in metrics:
        check(name in described, f"{name} is not described")
        check(isinstance(value, int), f"{name} is no number")
        check(all(re.fullmatch(r"\w+", label) for label in labels), f"labels of {name}")
        key = (name, tuple(sorted(labels.items())))
        check(key not in seen, f"{key} twice")
        seen[key] = value
    return {name: value for (name, _), value in seen.items()}, seen


def test_pfc(verbline, endpoint):
    with Running(verbline, "pfc", "--port", "vdev:net_null0,no-rx=1", "--rate", "10Gb/s",
                 "--storm", "--time", "30s") as sock:
        about = sock.cmd("/verbline/info")
        check(about["command"] == "pfc" and about["ports"] == 1, about)
        check(sock.cmd("/verbline/port", 0)["link_rate_bps"] > 0, "link rate")
        first = sock.cmd("/verbline/pfc", 0)
        time.sleep(0.1)
        second = sock.cmd("/verbline/pfc", 0)
        check(second["pfc_tx"] > first["pfc_tx"] > 0, (first, second))
        check(second["pauses_tx"] == 1, second)
        for uri, arg in (("/verbline/pfc", 1), ("/verbline/pfc", "x"), ("/verbline/pfc", None),
                         ("/verbline/port", "0,0"), ("/verbline/worker", 1)):
            check(sock.cmd(uri, arg) is None, (uri, arg))
        metrics, _ = export(endpoint, sock)
        check(metrics["up"] == 1 and metrics["pfc_tx"] > 0 and metrics["worker_rounds"] > 0, metrics)
        if shutil.which("dpdk-telemetry.py"):
            shown = subprocess.run(["dpdk-telemetry.py", "-f", f"vlt-{os.getpid()}"],
                                   input="/verbline/ports\n", capture_output=True, text=True,
                                   timeout=20).stdout
            check("net_null0" in shown, shown)


def test_replay(verbline, endpoint, pcaps):
    with Running(verbline, "replay", "--port", "vdev:net_null0,no-rx=1", "--pps", "1000", "--loop",
                 "0", os.path.join(pcaps, "rxe-rc-send-2-ipv4.pcap")) as sock:
        first = sock.cmd("/verbline/replay")
        time.sleep(0.2)
        second = sock.cmd("/verbline/replay")
        check(second["frames"] > first["frames"], (first, second))
        metrics, _ = export(endpoint, sock)
        check(metrics["replay_frames"] > 0, metrics)


def test_endpoint(verbline, endpoint):
    with Running(verbline, "endpoint", "--port", "null", "--ip", "10.0.0.1/24", "--ip",
                 "fd00::1/64", "--pfc-response-delay", "1us") as sock:
        about = sock.cmd("/verbline/info")
        check(about["command"] == "endpoint" and about["workers"] == 1, about)
        # The connection manager's own.
        check(1 in sock.cmd("/verbline/qp/list", 0), "QP1")
        metrics, _ = export(endpoint, sock)
        check(metrics["qps"] >= 1 and metrics["ip_arp_tx"] >= 0, metrics)
        check("data_frames_tx" in metrics and "port_tx_frames" in metrics, metrics)


def test_names(verbline):
    for name in ("", "a/b", "..", "x" * 40):
        ended = subprocess.run([verbline, "pfc", "--port", "vdev:net_null0", "--telemetry", name],
                               capture_output=True, text=True, timeout=60)
        check(ended.returncode in (1, 2) and "telemetry" in ended.stderr, (name, ended))


class Fake:
    """Answers of a host, without one."""

    def cmd(self, uri, arg=None):
        if uri == "/verbline/info":
            return {"command": "endpoint", "version": "1", "ports": 1, "workers": 2}
        if uri == "/verbline/ports":
            return ["null0"]
        if uri == "/verbline/qp/list":
            first = int(arg.split(",")[1])
            return [qpn for qpn in range(17, 717) if qpn >= first][:512]
        if uri == "/verbline/drops":
            return {"icrc": 3, "unknown_qp": 4}
        if uri == "/verbline/counters":
            return {"data_frames_tx": 5, "a_counter_of_tomorrow": 6}
        if uri == "/verbline/pfc":
            return {"pfc_rx": 7, "paused_ns_3": 8}
        if uri == "/verbline/cc":
            return {"rate_bps": 9}
        return None


def test_host_answers(endpoint):
    os.environ["VERBLINE_EXPORT_QPS"] = "2"
    metrics, seen = export(endpoint, Fake())
    port = ("port", "null0")
    check(metrics["qps"] == 700, metrics)
    check(seen[("drops", (port, ("reason", "unknown_qp")))] == 4, seen)
    check(seen[("paused_ns", (("class", 3), port))] == 8, seen)
    check(seen[("qp_rate_bps", (port, ("qpn", 18)))] == 9, seen)
    check(("qp_rate_bps", (port, ("qpn", 19))) not in seen, seen)


def main():
    verbline, endpoint_file, pcaps = sys.argv[1:]
    endpoint = load(endpoint_file)
    test_host_answers(endpoint)
    del os.environ["VERBLINE_EXPORT_QPS"]
    if not os.access("/run", os.W_OK):
        print("skipped: /run cannot be written")
        return 77
    test_pfc(verbline, endpoint)
    test_replay(verbline, endpoint, pcaps)
    test_endpoint(verbline, endpoint)
    test_names(verbline)
    print(f"telemetry: {checks - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
