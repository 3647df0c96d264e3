# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Loss between verbline and the guest's rxe, made in the guest: packets of fixed numbers, counted
from 0 in each direction from the rules' start. What rxe sends and loses is never on the segment;
what is lost on the way to rxe is, and is in the captures."""

import re
import threading

TO_LINUX = "to-linux"
FROM_LINUX = "from-linux"

# Hook of nftables, the address that is verbline's, and what is done; guest-init has made what drops
# the marked.
ACTIONS = {
    TO_LINUX: ("input", "saddr", "drop"),
    FROM_LINUX: ("output", "daddr", "meta mark set 1"),
}
FAMILIES = {"ipv4": "ip", "ipv6": "ip6"}
# The period of a counter that never comes round: a periodic loss could hit the same packet in every
# retransmission.
FOREVER = 1000000


# Two nft commands at a time disturb each other.
nft_lock = threading.Lock()


class Loss:
    """{direction: numbers} of the packets of one of verbline's addresses."""

    def __init__(self, guest, name, family, address, lost):
        self.guest = guest
        self.table = f"inet loss_{name}"
        chains = []
        for direction, numbers in lost.items():
            hook, end, action = ACTIONS[direction]
            which = ", ".join(str(number) for number in numbers)
            chains.append(f"chain {hook} {{\ntype filter hook {hook} priority 0\n"
                          f"{FAMILIES[family]} {end} {address} udp dport 4791"
                          f" numgen inc mod {FOREVER} {{ {which} }} counter {action}\n}}")
        with nft_lock:
            guest.run(f"nft '\ntable {self.table} {{\n" + "\n".join(chains) + "\n}'")

    def end(self):
        """How many packets were lost, {direction: number}."""
        with nft_lock:
            output = self.guest.run(f"nft list table {self.table}; nft delete table {self.table}")
        found = {}
        for direction, (hook, _, _) in ACTIONS.items():
            counter = re.search(rf"chain {hook} .*?counter packets (\d+)", output, re.DOTALL)
            if counter:
                found[direction] = int(counter[1])
        return found
