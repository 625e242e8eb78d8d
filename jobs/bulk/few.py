"""This module decides whether the reference codec reads records, because they are few or because
numba is missing.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pyarrow as pa

# The reference decoder reads some 8 MB per second, and importing numba with the machine code takes
# 0.45 s.  A process imports numba after this many bytes.
FEW_BYTES = 2 << 20
RECORD_BYTES = 64  # size in bytes that counts for a record without bytes
# regroup-embedded omits numba, which has a size of 208 MB
HAS_NUMBA = find_spec("numba") is not None

_read: int = 0  # number of bytes that this process has read with the reference decoder


def are_few(keys: pa.Array, values: pa.Array) -> bool:
    """With numba, it returns True at most until this process has asked for FEW_BYTES of keys and
    values.
    """
    global _read
    if f"{__package__}.kernel" in sys.modules:
        return False
    _read += int(keys.nbytes + values.nbytes) + RECORD_BYTES * len(keys)
    return _read <= FEW_BYTES or not HAS_NUMBA
