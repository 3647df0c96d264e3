# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the verbline authors
"""Records RoCE v2 frames of an interface, both ways, in classic pcap files."""

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


def is_roce(frame):
    ether_type = frame[12:14]
    if ether_type == b"\x08\x00" and frame[23] == socket.IPPROTO_UDP:
        udp = 14 + (frame[14] & 15) * 4
    elif ether_type == b"\x86\xdd" and frame[20] == socket.IPPROTO_UDP:
        udp = 54
    else:
        return False
    return frame[udp + 2:udp + 4] == struct.pack(">H", ROCE_PORT)


class Capture:
    """Of one file, from construction to close()."""

    def __init__(self, interface, path):
        self.count = 0
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
                if len(frame) < 42 or not is_roce(frame):
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
