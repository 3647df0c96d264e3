# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""The soft-RoCE host: a QEMU machine on the segment's tap, and commands run in it."""

import ctypes
import os
import re
import select
import signal
import socket
import subprocess
import time

import segment

MAC = "52:54:00:77:00:02"
ADDRESSES = {"ipv4": "10.77.0.2", "ipv6": "fd77::2"}
PREFIXES = {"ipv4": 24, "ipv6": 64}
CONTROL_PORT = 5002
BOOT_SECONDS = 120
PR_SET_PDEATHSIG = 1


class GuestError(Exception):
    """The guest did not come up, or does not answer."""


def die_with_parent():
    """In a child between fork and exec: it does not outlive the thread that started it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def accelerator():
    """KVM needs the processor's virtualization extensions: where /dev/kvm exists without them, it
    takes only guests that were built for that, and a stock kernel hangs."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        has_extensions = re.search(r"\b(vmx|svm)\b", file.read())
    return "kvm" if has_extensions and os.access("/dev/kvm", os.W_OK) else "tcg"


class Command:
    """A shell script that runs in the guest; its output arrives as it is written."""

    TRAILER = re.compile(r"\n?\nexit-status (\d+)\n\Z")

    def __init__(self, script):
        self.script = script
        self.output = ""
        self.status = None  # the exit status, once it has ended
        data = script.encode()
        self.socket = socket.create_connection(("127.0.0.1", CONTROL_PORT), timeout=10)
        self.socket.sendall(b"%d\n%s" % (len(data), data))

    def wait(self, seconds, until=None):
        """Waits until the script ends, or a pattern is in its output. Returns whether that came."""
        end = time.monotonic() + seconds
        while self.status is None:
            if until and re.search(until, self.output):
                return True
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return False
            data = self.socket.recv(65536)
            self.output += data.decode(errors="replace")
            if data:
                continue
            self.socket.close()
            trailer = self.TRAILER.search(self.output)
            if not trailer:
                raise GuestError(f"the guest broke off: {self.script}\n{self.output}")
            self.status = int(trailer[1])
            self.output = self.output[:trailer.start()] + "\n"
        return until is None or bool(re.search(until, self.output))


class Machine:
    """The guest. image is the directory that build-image filled; directory takes its console."""

    def __init__(self, image, directory):
        self.accelerator = accelerator()
        self.console = os.path.join(directory, "console.log")
        if os.path.exists(self.console):
            os.unlink(self.console)  # or an earlier machine's words would be taken for this one's
        # The device offers no offload, so that every frame on the tap is complete.
        no_offloads = ",".join(f"{name}=off" for name in (
            "csum", "guest_csum", "gso", "host_tso4", "host_tso6", "host_ecn", "host_ufo",
            "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo"))
        arguments = (
            f"console=ttyS0 quiet panic=-1 mitigations=off peer.name=soft-roce peer.mac={MAC}"
            f" peer.address={ADDRESSES['ipv4']}/{PREFIXES['ipv4']}"
            f" peer.address6={ADDRESSES['ipv6']}/{PREFIXES['ipv6']}"
            f" peer.mtu={segment.MAX_MTU} peer.port={CONTROL_PORT}")
        kvm = self.accelerator == "kvm"
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-machine", "q35", "-smp", "1", "-m", "512",
             "-accel", "kvm" if kvm else "tcg,thread=multi", "-cpu", "host" if kvm else "max",
             "-no-reboot", "-nodefaults", "-no-user-config", "-display", "none",
             "-serial", f"file:{self.console}",
             "-kernel", os.path.join(image, "vmlinuz"),
             "-initrd", os.path.join(image, "initramfs.img"), "-append", arguments,
             "-netdev", f"tap,id=roce,ifname={segment.TAP},script=no,downscript=no",
             "-device", f"virtio-net-pci,netdev=roce,mac={MAC},host_mtu={segment.MAX_MTU},romfile=,"
             + no_offloads,
             # The control NIC leads into the emulator only, which forwards one local port to it.
             "-netdev", "user,id=control,restrict=on,ipv6=off,"
             f"hostfwd=tcp:127.0.0.1:{CONTROL_PORT}-10.0.2.15:{CONTROL_PORT}",
             "-device", "virtio-net-pci,netdev=control,mac=52:54:00:78:00:01,romfile=",
             "-device", "virtio-rng-pci"],
            stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)

    def console_text(self):
        try:
            with open(self.console, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def wait_until_up(self):
        """Returns the seconds that it took."""
        start = time.monotonic()
        while "guest-init: ready" not in self.console_text():
            if self.process.poll() is not None or time.monotonic() - start > BOOT_SECONDS:
                raise GuestError("the guest did not come up:\n" + self.console_text()[-2000:])
            time.sleep(0.1)
        self.run("true")
        return time.monotonic() - start

    def run(self, script, seconds=120):
        """Runs a script to its end and returns its output; it must succeed."""
        command = Command(script)
        if not command.wait(seconds) or command.status != 0:
            raise GuestError(f"in the guest, status {command.status}: {script}\n{command.output}")
        return command.output

    def stop(self):
        self.process.kill()
        self.process.wait()
