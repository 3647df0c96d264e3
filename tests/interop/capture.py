# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Records RoCE v2 frames of an interface, both ways, in classic pcap files."""

import ipaddress
import socket
import struct
import threading
import time

ETH_P_ALL = 3
SO_TIMESTAMPNS = 35
ROCE_PORT = 4791
MAGIC_NANOSECONDS = 0xA1B23C4D
LINKTYPE_ETHERNET = 1
QUIET_SECONDS = 0.1


def is_wanted(frame, address):
    """Whether it is a RoCE v2 packet from or to an address."""
    ether_type = frame[12:14]
    if ether_type == b"\x08\x00" and frame[23] == socket.IPPROTO_UDP:
        udp = 14 + (frame[14] & 15) * 4
        ends = frame[26:30], frame[30:34]
    elif ether_type == b"\x86\xdd" and frame[20] == socket.IPPROTO_UDP:
        udp = 54
        ends = frame[22:38], frame[38:54]
    else:
        return False
    return address in ends and frame[udp + 2:udp + 4] == struct.pack(">H", ROCE_PORT)


class Capture:
    """Of one address and one file, from construction to close()."""

    def __init__(self, interface, address, path):
        self.count = 0
        self.address = ipaddress.ip_address(address).packed
        self.last = time.monotonic()
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.bind((interface, ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self.socket.settimeout(0.05)
        self.file = open(path, "wb")  # closed by the thread
        self.file.write(struct.pack("<IHHiIII", MAGIC_NANOSECONDS, 2, 4, 0, 0, 65535,
                                    LINKTYPE_ETHERNET))
        self.ending = False
        self.thread = threading.Thread(target=self.record, daemon=True)
        self.thread.start()

    def record(self):
        with self.file, self.socket:
            while not self.ending or time.monotonic() - self.last < QUIET_SECONDS:
                try:
                    frame, ancillary, _, _ = self.socket.recvmsg(65536, 256)
                except TimeoutError:
                    continue
                if not is_wanted(frame, self.address):
                    continue
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
                self.file.write(struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)))
                self.file.write(frame)
                self.count += 1
                self.last = time.monotonic()

    def close(self):
        """Ends when nothing has come for a moment."""
        self.ending = True
        self.last = time.monotonic()
        self.thread.join()
