"""The addresses on which this process and all below it accept connections, from /proc."""

import ipaddress
import re
from pathlib import Path

_LISTEN = "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def listening_addresses(pid="self"):
    """The addresses, each once; IPv4 addresses that IPv6 sockets have are IPv4 addresses."""
    own = set(_sockets(pid))
    return {address for inode, address in _listening() if inode in own}


def _listening():
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN:
                yield fields[9], _address(fields[1].partition(":")[0])


def _address(text):
    """Each 32 bits are in the byte order of the machine."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    return str(getattr(address, "ipv4_mapped", None) or address)


def _sockets(pid):
    try:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            if match := _SOCKET.match(str(file.readlink())):
                yield match[1]
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _sockets(child)
    except OSError:  # it ended
        return
