# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Loss between verbline and the guest's rxe, made in the guest: packets of fixed numbers, counted
from 0 in each direction from the rules' start. What rxe sends and loses is never on the segment;
what is lost on the way to rxe is, and is in the captures."""

import re

TO_LINUX = "to-linux"
FROM_LINUX = "from-linux"

# Hook of nftables and what it does; guest-init has made what drops the marked.
ACTIONS = {
    TO_LINUX: ("input", "drop"),
    FROM_LINUX: ("output", "meta mark set 1"),
}
# The period of a counter that never comes round: a periodic loss could hit the same packet in every
# retransmission.
FOREVER = 1000000


def make(lost):
    """A script that makes the losses, {direction: numbers}."""
    chains = []
    for direction, numbers in lost.items():
        hook, action = ACTIONS[direction]
        which = ", ".join(str(number) for number in numbers)
        chains.append(f"chain {hook} {{\ntype filter hook {hook} priority 0\nudp dport 4791"
                      f" numgen inc mod {FOREVER} {{ {which} }} counter {action}\n}}")
    return "nft '\ntable inet loss {\n" + "\n".join(chains) + "\n}'"


# A script that ends the losses, and prints what count() reads.
REMOVE = "nft list table inet loss; nft delete table inet loss"


def count(output):
    """How many packets were lost, {direction: number}."""
    found = {}
    for direction, (hook, _) in ACTIONS.items():
        counter = re.search(rf"chain {hook} .*?counter packets (\d+)", output, re.DOTALL)
        if counter:
            found[direction] = int(counter[1])
    return found
