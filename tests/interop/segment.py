# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""The Ethernet segment between the guest and verbline: a bridge with a tap for the guest and a veth
whose free end, DUT, is verbline's port. All in a network namespace that ends with the suite.

Offloads are off everywhere: with them on, a sender leaves checksums to hardware that does not exist
here, and verbline, which sees the bytes, would find them wrong."""

import os
import subprocess
import sys

BRIDGE = "br0"
TAP = "peer"
DUT = "dut"
DUT_BRIDGE_END = "dut-br"
MAX_MTU = 9000
INSIDE = "VERBLINE_INTEROP_NAMESPACE"


def enter_namespace():
    """Runs this program again, in network and mount namespaces of its own."""
    if os.environ.get(INSIDE) != "1":
        os.environ[INSIDE] = "1"
        sys.stdout.flush()
        os.execvp("unshare", ["unshare", "--net", "--mount", "--", sys.executable, *sys.argv])
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def offloads_off(interface):
    for offload in ("tx", "rx", "sg", "tso", "gso", "gro"):
        subprocess.run(["ethtool", "-K", interface, offload, "off"], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def set_up():
    for name in ("all", "default"):
        with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w", encoding="ascii") as file:
            file.write("1")  # the host's stack is no part of the segment
    ip("link", "set", "lo", "up")
    # No learning delay, and no snooping: nobody here answers as a querier, and neighbour discovery
    # is multicast.
    ip("link", "add", BRIDGE, "type", "bridge", "stp_state", "0", "forward_delay", "0",
       "mcast_snooping", "0")
    ip("tuntap", "add", "dev", TAP, "mode", "tap", "vnet_hdr")
    ip("link", "add", DUT, "type", "veth", "peer", "name", DUT_BRIDGE_END)
    for name in (TAP, DUT_BRIDGE_END):
        ip("link", "set", name, "mtu", str(MAX_MTU), "master", BRIDGE)
    ip("link", "set", DUT, "mtu", str(MAX_MTU))
    for name in (BRIDGE, TAP, DUT_BRIDGE_END, DUT):
        offloads_off(name)
        ip("link", "set", name, "up")


def set_mtu(mtu):
    """Of verbline's port; the others let pass what is longer, too."""
    ip("link", "set", DUT, "mtu", str(mtu))
