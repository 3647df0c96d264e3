# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""verbline's counters for dpdk-telemetry-exporter, which finds this file by its directory:

    dpdk-telemetry-exporter.py -p .../dpdk/telemetry-endpoints -s /run/dpdk/NAME/dpdk_telemetry.v2

NAME is what --telemetry named. VERBLINE_EXPORT_QPS=N in the exporter's environment adds the counters
of up to N queue pairs of each port; none are exported without it, as each costs a question."""

import os

# What the device counts; labels: port.
PORT = {
    "rx_frames": "Frames received, as the device counts them",
    "rx_bytes": "Bytes of the frames received",
    "tx_frames": "Frames sent, as the device counts them",
    "tx_bytes": "Bytes of the frames sent",
    "rx_missed": "Frames lost for want of room in the receive queue",
    "rx_errors": "Frames received damaged",
    "rx_nombuf": "Frames lost or put off for want of buffers",
    "tx_errors": "Frames that the device failed to send",
    "rx_ip_checksum": "Frames dropped as the device found the IPv4 header's checksum wrong",
    "rx_tag_lost": "Frames dropped for want of room for a VLAN tag that the device took out",
    "rx_timed": "Frames whose time of arrival is the device's",
}

# Labels: worker.
WORKER = {
    "rounds": "Rounds of the worker's loop",
    "busy_rounds": "Rounds with at least one frame",
    "busy_ns": "Nanoseconds spent in busy rounds",
    "total_ns": "Nanoseconds since the worker began",
    "handed_over": "Frames handed over to other workers",
    "hand_over_dropped": "Frames dropped as the other worker's ring was full",
    "mempool_exhausted": "Times that the worker's mempool was empty",
    "rx_segmented": "Frames dropped as they came in several buffers and fit into none",
}

# RDMA; labels: port, and qpn where VERBLINE_EXPORT_QPS asks for queue pairs.
COUNTERS = {
    "data_frames_tx": "Request and READ response packets sent, retransmissions included",
    "data_frames_rx": "Request and READ response packets accepted",
    "data_bytes_tx": "Payload of data_frames_tx",
    "data_bytes_rx": "Payload of data_frames_rx",
    "data_frames_retransmitted": "Packets sent again",
    "ecn_ce_rx": "Packets received with ECN CE",
    "cnp_tx": "CNPs sent",
    "cnp_rx": "CNPs received for a queue pair",
    "ack_tx": "ACKs sent",
    "ack_rx": "ACKs received",
    "nak_tx": "NAKs sent, RNR excluded",
    "nak_rx": "NAKs received, RNR excluded",
    "rnr_nak_tx": "RNR NAKs sent",
    "rnr_nak_rx": "RNR NAKs received",
    "frame_sequence_error": "Packets received ahead of the expected PSN",
    "duplicate_request": "Requests received behind the expected PSN",
    "implied_nak_seq_err": "Responses that implied the loss of an earlier one",
    "local_ack_timeout_err": "Local ACK timeouts",
    "message_tx": "Send work requests completed with success",
    "message_rx": "Messages received whole",
    "message_fail": "Work requests completed in error",
}

# Labels: port.
IP = {
    "arp_rx": "ARP packets received",
    "arp_tx": "ARP packets sent",
    "nd_rx": "Neighbour solicitations and advertisements received",
    "nd_tx": "Neighbour solicitations and advertisements sent",
    "echo_rx": "ICMP and ICMPv6 echo requests received",
    "echo_tx": "Echo replies sent",
    "conflicts": "ARP and ND by which another MAC claims one of our addresses",
    "malformed": "ARP, ND or ICMP that breaks its own format",
    "unresolved": "Neighbours given up",
}

# Labels: port; of `verbline pfc` besides: what it did itself.
PFC = {
    "pfc_rx": "PFC and PAUSE frames received",
    "pfc_tx": "PFC and PAUSE frames sent",
    "pauses_tx": "Pauses begun",
    "gaps_stolen": "Gaps above the longest allowed, as the machine kept the loop from running",
    "gaps_late": "Gaps above the longest allowed for another reason",
    "pauses_broken": "Gaps by which the pause ran out",
    "global_pauses_rx": "PAUSE frames received",
}

# Labels: port, class; the answer has them as NAME_CLASS.
PFC_CLASSES = {
    "pauses_rx": "Pauses received",
    "resumes_rx": "Ends of pauses received",
    "paused_ns": "Nanoseconds that the class was paused",
}

# Of `verbline replay --port`.
REPLAY = {
    "frames": "Frames sent",
    "bytes": "Bytes sent",
    "late_reader": "Frames late as they were not read in time",
    "late_port": "Frames late as the port did not take them",
    "late_machine": "Frames late as the machine kept the worker from running",
}

# Of a queue pair; labels: port, qpn.
CC = {
    "rate_bps": ("Rate that congestion control allows; 0: not limited", "gauge"),
    "target_rate_bps": ("Target rate of DCQCN", "gauge"),
    "alpha_ppm": ("Alpha of DCQCN, in millionths", "gauge"),
    "rate_cuts": ("Cuts of the rate", "counter"),
}


def info():
    metrics = {
        "up": ("1 while a command answers; labels: command, version", "gauge"),
        "link_rate_bps": ("Rate of the port's link", "gauge"),
        "arrival_clock_error_ns": ("What times of arrival may be wrong by; labels: port, clock",
                                   "gauge"),
        "drops": ("Packets dropped; labels: port, reason", "counter"),
        "qps": ("Queue pairs that exist; labels: port", "gauge"),
    }
    for table, prefix in ((PORT, "port_"), (WORKER, "worker_"), (COUNTERS, ""), (COUNTERS, "qp_"),
                          (IP, "ip_"), (PFC, ""), (PFC_CLASSES, ""), (REPLAY, "replay_")):
        for name, description in table.items():
            metrics[prefix + name] = (description, "counter")
    for name, (description, kind) in CC.items():
        metrics["qp_" + name] = (description, kind)
    return metrics


def pick(answer, table, prefix, labels):
    """The metrics of a table that an answer has."""
    return [(prefix + name, answer[name], labels) for name in table if name in (answer or {})]


def qps_of(sock, port):
    """The QPNs of a port; the socket gives 512 at a time."""
    found, first = [], 0
    while True:
        part = sock.cmd("/verbline/qp/list", f"{port},{first}") or []
        found += part
        if len(part) < 512 or part[-1] >= 0xFFFFFF:
            return found
        first = part[-1] + 1


def metrics_of_qps(sock, port, labels):
    most = int(os.environ.get("VERBLINE_EXPORT_QPS") or 0)
    qps = qps_of(sock, port)
    found = [("qps", len(qps), labels)]
    for qpn in qps[:most]:
        own = {**labels, "qpn": qpn}
        found += pick(sock.cmd("/verbline/qp/info", f"{port},{qpn}"), COUNTERS, "qp_", own)
        found += pick(sock.cmd("/verbline/cc", f"{port},{qpn}"), CC, "qp_", own)
    return found


def metrics_of_port(sock, port, name, hosts):
    labels = {"port": name}
    answer = sock.cmd("/verbline/port", port) or {}
    found = pick(answer, PORT, "port_", labels)
    if "link_rate_bps" in answer:
        found.append(("link_rate_bps", answer["link_rate_bps"], labels))
    if "arrival_clock" in answer:
        found.append(("arrival_clock_error_ns", answer["arrival_clock_error_ns"],
                      {**labels, "clock": answer["arrival_clock"]}))
    answer = sock.cmd("/verbline/pfc", port) or {}
    found += pick(answer, PFC, "", labels)
    for priority in range(8):
        for name_ in PFC_CLASSES:
            if f"{name_}_{priority}" in answer:
                found.append((name_, answer[f"{name_}_{priority}"],
                              {**labels, "class": priority}))
    if not hosts:
        return found
    found += pick(sock.cmd("/verbline/counters", port), COUNTERS, "", labels)
    found += pick(sock.cmd("/verbline/ip", port), IP, "ip_", labels)
    for reason, count in (sock.cmd("/verbline/drops", port) or {}).items():
        found.append(("drops", count, {**labels, "reason": reason}))
    return found + metrics_of_qps(sock, port, labels)


def metrics(sock):
    about = sock.cmd("/verbline/info")
    if not about:
        return []
    found = [("up", 1, {"command": about["command"], "version": about["version"]})]
    hosts = sock.cmd("/verbline/counters", 0) is not None
    for port, name in enumerate(sock.cmd("/verbline/ports") or []):
        found += metrics_of_port(sock, port, name, hosts)
    for worker in range(about["workers"]):
        found += pick(sock.cmd("/verbline/worker", worker), WORKER, "worker_", {"worker": worker})
    found += pick(sock.cmd("/verbline/replay"), REPLAY, "replay_", {})
    return found
