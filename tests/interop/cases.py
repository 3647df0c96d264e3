# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""What the suite runs: a table of cases, in the order in which they are run."""

import dataclasses
import itertools
import os

from loss import FROM_LINUX, TO_LINUX
from verbline import UCMATOSE_SIZE

LINUX_CLIENT = "linux-client"
LINUX_SERVER = "linux-server"
EVENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.yaml")
FAMILIES = ("ipv4", "ipv6")
# Of the segment, and the path MTU that follows from it.
PATH_MTUS = {1500: 1024, 9000: 4096}


@dataclasses.dataclass(frozen=True)
class Program:
    """What Linux runs, with {address} of the server; and what it must print."""
    client: str
    server: str
    verbline_client: str  # a command of verbline, with {address} of the server
    # Numbers of the packets to be lost, in either direction; see loss.py. 0 is the connection
    # manager's first.
    lost: tuple
    lossy: dict = dataclasses.field(default_factory=dict)  # (role, direction): other losses
    client_prints: str = ""
    server_prints: str = ""


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    mtu: int
    family: str
    role: str  # of Linux
    client: str = ""
    server: str = ""
    verbline_client: str = ""
    lost: dict = dataclasses.field(default_factory=dict)
    client_prints: str = ""
    server_prints: str = ""
    verbline_prints: str = ""
    verbline_status: int = 0
    is_roce: bool = True


RPING = "-C 6 -S 5000 -V -v"
UCMATOSE = f"-C 6 -S {UCMATOSE_SIZE} -c 2"
UDADDY = "-C 6 -S 900 -c 2"

PROGRAMS = {
    "rping": Program(
        client=f"rping -c -a {{address}} {RPING}",
        server=f"rping -s -a {{address}} {RPING}",
        verbline_client=f"rping --connect {{address}} {RPING}",
        lost=(2, 9, 16),
        client_prints=r"(?s)(ping data: rdma-ping-\d.*){6}",
        server_prints=r"(?s)(server ping data: rdma-ping-\d.*){6}"),
    "ucmatose": Program(
        client=f"ucmatose -s {{address}} {UCMATOSE}",
        server=f"ucmatose -b {{address}} {UCMATOSE}",
        verbline_client=f"ucmatose --connect {{address}} {UCMATOSE}",
        lost=(5, 9, 14),
        client_prints="return status 0",
        server_prints="return status 0"),
    # Unreliable: only what the connection manager sends may be lost. What Linux's server sends is
    # not repeated by it either: to a repeated SIDR_REQ it opens another connection. So of its two
    # SIDR_REPs and 12 messages a message is lost, and must be missed.
    "udaddy": Program(
        client=f"udaddy -s {{address}} {UDADDY}",
        server=f"udaddy -b {{address}} {UDADDY}",
        verbline_client=f"udaddy --connect {{address}} {UDADDY}",
        lost=(0,),
        lossy={(LINUX_SERVER, FROM_LINUX): {
            "lost": {FROM_LINUX: (5,)}, "verbline_status": 1,
            "verbline_prints": "no answer, 11 of 12 messages came back"}},
        client_prints="return status 0",
        server_prints="return status 0"),
    "exercise": Program(
        client="exercise client {address}",
        server="exercise server {address}",
        verbline_client="exercise --connect {address}",
        lost=(3, 7, 12, 20),
        client_prints=r"(?m)^finish +success$",
        server_prints=r"immediate 0xffffffff"),
}

ACCESS_ERROR = "remote access error"
# Requests that the responder must refuse, and how the requester sees that.
REFUSED = {
    "write-bad-rkey": ACCESS_ERROR,
    "write-multi-bad-rkey": ACCESS_ERROR,
    "write-out-of-bounds": ACCESS_ERROR,
    "write-no-permission": ACCESS_ERROR,
    "read-bad-rkey": ACCESS_ERROR,
    "read-out-of-bounds": ACCESS_ERROR,
    "read-no-permission": ACCESS_ERROR,
    "atomic-bad-rkey": ACCESS_ERROR,
    "atomic-no-permission": ACCESS_ERROR,
    # soft-RoCE answers with a remote operational error, as IBTA 9.7.5.2.4 wants an invalid request.
    "send-too-long": "remote (operation|invalid request) error",
    # soft-RoCE acknowledges it: the error is the responder's alone.
    "send-inv-bad-rkey": "success|remote access error",
}
REFUSED_ON = ((1500, "ipv4"), (9000, "ipv6"))


def path_name(mtu, family):
    return f"{family}-{PATH_MTUS[mtu]}"


def fault_cases(mtu):
    """verbline's own faults, by an event list."""
    program = PROGRAMS["exercise"]
    for family in FAMILIES:
        yield Case(
            name=f"faults-exercise-{LINUX_SERVER}-{path_name(mtu, family)}", mtu=mtu, family=family,
            role=LINUX_SERVER, server=program.server,
            verbline_client=f"{program.verbline_client} --events {EVENTS}",
            server_prints=program.server_prints,
            verbline_prints=r"(?m)^(exercise: )?finish +success$")


def neighbour_cases(mtu):
    """ARP, neighbour discovery and echo, to verbline and from a kernel that knows nothing yet."""
    def case(name, family, client, prints):
        return Case(name=f"{name}-{path_name(mtu, family)}", mtu=mtu, family=family,
                    role=LINUX_CLIENT, client="ip neigh flush dev roce0 to {address}; " + client,
                    client_prints=prints, is_roce=False)

    yield case("arping", "ipv4", "arping -c 3 -I roce0 {address}", r"Received 3 (replies|response)")
    for family, headers in (("ipv4", 28), ("ipv6", 48)):
        program = {"ipv4": "ping", "ipv6": "ping6"}[family]
        yield case("ping", family, f"{program} -c 3 -W 5 {{address}}", "3 packets received")
        yield case("ping-long", family, f"{program} -c 3 -W 5 -s {mtu - headers} {{address}}",
                   "3 packets received")


def program_cases(mtu, role):
    for (name, program), family in itertools.product(PROGRAMS.items(), FAMILIES):
        for where in (None, TO_LINUX, FROM_LINUX):
            suffix = f"-lost-{where}" if where else ""
            case = Case(
                name=f"{name}-{role}-{path_name(mtu, family)}{suffix}",
                mtu=mtu, family=family, role=role, client=program.client, server=program.server,
                verbline_client=program.verbline_client,
                lost={where: program.lost} if where else {},
                client_prints=program.client_prints, server_prints=program.server_prints)
            yield dataclasses.replace(case, **program.lossy.get((role, where), {}))


def connection_loss_cases(mtu, role):
    """The first message of each side, REQ and REP, and what follows them."""
    program = PROGRAMS["rping"]
    for family in FAMILIES:
        yield Case(
            name=f"rping-{role}-{path_name(mtu, family)}-lost-connect",
            mtu=mtu, family=family, role=role, client=program.client, server=program.server,
            verbline_client=program.verbline_client, lost={TO_LINUX: (0,), FROM_LINUX: (0, 2)},
            client_prints=program.client_prints, server_prints=program.server_prints)


def refused_cases(mtu, role):
    for family in FAMILIES:
        if (mtu, family) not in REFUSED_ON:
            continue
        for request, status in REFUSED.items():
            yield Case(
                name=f"refused-{request}-{role}-{path_name(mtu, family)}",
                mtu=mtu, family=family, role=role,
                client=PROGRAMS["exercise"].client + " " + request,
                server=PROGRAMS["exercise"].server,
                verbline_client=PROGRAMS["exercise"].verbline_client + f" --refused {request}",
                client_prints=rf"(?m)^{request} +({status})$",
                verbline_prints=rf"(?m)^{request} +({status})$")


def perftest_cases(mtu):
    """Bandwidth tests whose QPs the RDMA connection manager connects."""
    for program in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
        yield Case(
            name=f"{program}-{path_name(mtu, 'ipv4')}", mtu=mtu, family="ipv4", role=LINUX_CLIENT,
            client=f"{program} -R -F -s 10000 -n 20 {{address}}",
            client_prints=r"(?m)^ 10000 +20 ")


def all_cases():
    for mtu, role in itertools.product(PATH_MTUS, (LINUX_CLIENT, LINUX_SERVER)):
        if role == LINUX_CLIENT:
            yield from neighbour_cases(mtu)
            yield from perftest_cases(mtu)
        yield from program_cases(mtu, role)
        if role == LINUX_SERVER:
            yield from fault_cases(mtu)
        if mtu == 1500:
            yield from connection_loss_cases(mtu, role)
        yield from refused_cases(mtu, role)
