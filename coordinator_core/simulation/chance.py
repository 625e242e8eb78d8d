"""Chance by name: a number that follows from the seed and from what it is drawn for.

Nothing is drawn in a sequence: whether one message is delayed does not hang on how many others were
sent before.  So a group fares the same alone, among thousands and with its idle time skipped.
"""

from __future__ import annotations

from hashlib import blake2b

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def key_of(*names: object) -> int:
    """A number for what is drawn: to be made once for a process or partition, then kept."""
    text = "\x1f".join(map(str, names))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def mixed(key: int, *numbers: int) -> int:
    """64 well-mixed bits of a key and numbers (splitmix64's finisher, once for each)."""
    state = key
    for number in numbers:
        state = state + (number + 1) * _GOLDEN & _MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _MASK
        state ^= state >> 31
    return state


def share(key: int, *numbers: int) -> float:
    """In [0, 1)."""
    return (mixed(key, *numbers) >> 11) / (1 << 53)


def between(lowest: int, highest: int, key: int, *numbers: int) -> int:
    """In [lowest, highest], both included."""
    if lowest == highest:
        return lowest
    return lowest + mixed(key, *numbers) % (highest - lowest + 1)
