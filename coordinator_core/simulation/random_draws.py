"""Random numbers by seed and purpose.

A number is a hash of the seed and of its purpose.  There is no sequence of draws: the delay of one
message does not depend on how many messages were sent before.  Therefore a group behaves the same
alone, among thousands of groups and with its idle time skipped.
"""

from __future__ import annotations

from hashlib import blake2b

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def key_of(*names: object) -> int:
    """A 64-bit key for draws with this purpose.  Slow: compute it once per process or partition."""
    text = "\x1f".join(map(str, names))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def mixed(key: int, *numbers: int) -> int:
    """64 well-mixed bits of a key and numbers: splitmix64's finisher, applied per number."""
    state = key
    for number in numbers:
        state = state + (number + 1) * _GOLDEN & _MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _MASK
        state ^= state >> 31
    return state


def fraction(key: int, *numbers: int) -> float:
    """A number in [0, 1)."""
    return (mixed(key, *numbers) >> 11) / (1 << 53)


def between(lowest: int, highest: int, key: int, *numbers: int) -> int:
    """A whole number in [lowest, highest], both included."""
    if lowest == highest:
        return lowest
    return lowest + mixed(key, *numbers) % (highest - lowest + 1)
