"""The compiled loops of bulk decoding.

``walk`` runs a program over the rows and writes positions of fields; the other functions copy
fields from the bytes to Arrow's buffers.  All loops are in this file, because numba's cache of
machine code is only invalidated by changes of the file with the compiled function.

Bytes are read and written in words, so arrays have PADDING bytes after their end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.np import arrayobj
from numpy.typing import NDArray

from coordinator_core.records.primitives import MAX_STRING
from jobs.bulk.compiled import compiled, inlined, lowered
from jobs.bulk.program import (
    ARRAY,
    COLUMN,
    COMPACT,
    END,
    END_TAG,
    END_TAGS,
    GO,
    HOW,
    JUMP,
    MARK,
    NEXT,
    NULL,
    NULLABLE,
    NUMBER,
    OP,
    PADDING,
    RUN,
    SIZE,
    SIZED,
    STRUCT,
    TAG,
    TAGS,
)

Bytes = NDArray[np.uint8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Array = NDArray[Any]
Int = Any  # numba infers int64; in the interpreter the type is int or a scalar of numpy

TABLE = types.int32[:, ::1]
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
OUT = types.uint8[::1]
INT32S, INT64S = types.int32[::1], types.int64[::1]

STRIDE = PADDING
WORD = 8  # bytes
ONE = np.uint64(1)
MAX_END = 2**31 - 1  # largest position of a row's end, because positions are int32
CUT_SHORT = -2  # value in place of a length for a value that is cut short; null has -1
NOT_ASCII = np.uint64(0x8080808080808080)


# Memory ---------------------------------------------------------------------------------------


@lowered
def word_at(typing: Any, data: Any, at: Any) -> Any:
    """Eight bytes from any position; up to seven may be after the end."""

    def load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(
            _pointer(context, builder, signature, arguments, ir.IntType(64)), align=1
        )

    return types.uint64(data, types.int64), load


@lowered
def put_word(typing: Any, out: Any, to: Any, word: Any) -> Any:
    def store(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        place = _pointer(context, builder, signature, arguments, ir.IntType(64))
        builder.store(arguments[2], place, align=1)

    return types.void(out, types.int64, types.uint64), store


@lowered
def move(typing: Any, out: Any, to: Any, data: Any, at: Any) -> Any:
    """Copies STRIDE bytes, in the widest registers available."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        stride = ir.VectorType(ir.IntType(8), STRIDE)
        to_place = _pointer(context, builder, signature, arguments, stride)
        place = _pointer(context, builder, signature, arguments, stride, 2)
        builder.store(builder.load(place, align=1), to_place, align=1)

    return types.void(out, types.int64, data, types.int64), code


def _pointer(
    context: Any, builder: Any, signature: Any, arguments: Any, type_: Any, index: int = 0
) -> Any:
    make_array: Any = arrayobj.make_array
    array = make_array(signature.args[index])(context, builder, arguments[index])
    place = builder.gep(array.data, [arguments[index + 1]])
    return builder.bitcast(place, type_.as_pointer())


@inlined
def swapped(word: np.uint64) -> np.uint64:
    low_bytes, low_pairs = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
    word = (word & low_bytes) << np.uint64(8) | (word >> np.uint64(8)) & low_bytes
    word = (word & low_pairs) << np.uint64(16) | (word >> np.uint64(16)) & low_pairs
    return word << np.uint64(32) | word >> np.uint64(32)


@inlined
def copy_number(data: Bytes, at: Int, size: Int, out: Bytes, to: Int) -> None:
    """Copies a big-endian number in the machine's byte order; a uuid, which is longer, as it is."""
    if size > WORD:
        move(out, to, data, at)
    else:
        put_word(out, to, swapped(word_at(data, at)) >> np.uint64(8 * (WORD - size)))


# Lengths and text -----------------------------------------------------------------------------


@inlined
def read_varint(data: Bytes, at: Int, limit: Int) -> tuple[Int, Int]:
    """An unsigned 32-bit varint and the position after it; CUT_SHORT if unreadable."""
    value: Int = 0
    for shift in range(0, 35, 7):
        if at >= limit:
            break
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value if value <= 0xFFFFFFFF else CUT_SHORT), at
    return CUT_SHORT, at


@inlined
def read_length(data: Bytes, at: Int, limit: Int, how: Int) -> tuple[Int, Int]:
    """A length and the position after it.  ``how``: COMPACT, or the number of its bytes."""
    if how == COMPACT:
        value, at = read_varint(data, at, limit)
        return (value - 1 if value >= 0 else CUT_SHORT), at
    if limit - at < how:
        return CUT_SHORT, at
    length = np.int64(swapped(word_at(data, at))) >> 8 * (WORD - how)
    return max(length, np.int64(-1)), at + how  # As in Kafka, every negative length means null.


@inlined
def is_text(data: Bytes, at: Int, length: Int) -> bool:
    """Returns whether the bytes are UTF-8; tests for ASCII first, which most ids and names are."""
    bits = np.uint64(0)
    left = length
    while left >= 8:
        bits |= word_at(data, at)
        at += 8
        left -= 8
    if left:
        bits |= word_at(data, at) << np.uint64(64 - 8 * left)
    return bits & NOT_ASCII == 0 or is_utf8(data, at + left - length, at + left)


@inlined
def is_utf8(data: Bytes, at: Int, end: Int) -> bool:
    """Returns whether Python's strict decoder accepts the bytes: no surrogates, no overlong
    forms.
    """
    while at < end:
        lead = np.int64(data[at])
        if lead < 0x80:
            at += 1
            continue
        if not 0xC2 <= lead <= 0xF4:
            return False
        size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        if size > end - at:
            return False
        low = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
        high = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
        if not low <= data[at + 1] <= high:
            return False
        for index in range(2, size):
            if not 0x80 <= data[at + index] <= 0xBF:
                return False
        at += size
    return True


# The walk -------------------------------------------------------------------------------------


@compiled(
    TABLE, INT32S, BYTES, INT64S, INT64S, INT64S, types.int64, TABLE, types.uint64[:, ::1], INT64S,
    types.b1[::1],
)  # fmt: skip
def walk(
    program: Int32s,
    entries: Int32s,
    data: Bytes,
    start: Int64s,
    end: Int64s,
    version: Int64s,
    room: Int,
    positions: Int32s,
    cursors: Array,
    stack: Int64s,
    good: Array,
) -> bool:
    """Writes start and length of each field of each row into ``positions``, column after column.

    ``cursors`` has the next free slot of each column; a column has ``room`` slots.  ``stack`` has
    the remaining elements of arrays, the remaining tagged fields, and the limits outside these.  A
    row that the reference codec may read differently, or cannot read, is not good: it becomes a row
    of nulls (step 0).  Returns False if a column has not enough room.

    All steps are in one function: with inlined functions instead, the walk was 8 to 22 % slower in
    three paired runs.
    """
    starts, lengths = positions[0], positions[1]
    cursors, saved = cursors[0], cursors[1]
    for index in range(len(cursors)):
        cursors[index] = index * room
    for row in range(len(start)):
        at, limit = start[row], end[row]
        step: Int = np.int64(0)
        if 0 <= version[row] < len(entries) and limit <= MAX_END:
            step = np.int64(entries[version[row]])
        good[row] = step != 0
        for index in range(len(cursors)):
            saved[index] = cursors[index]
        top = -1
        is_bad = False
        while True:
            if is_bad:
                is_bad = False
                good[row] = False
                for index in range(len(cursors)):
                    cursors[index] = saved[index]
                step = 0
            here = np.uint64(step)
            op = program[here, OP]
            if op == END:
                break
            column = np.uint64(program[here, COLUMN])
            size = program[here, SIZE]
            slot = cursors[column]
            if op == NUMBER:
                is_bad = size > limit - at
                starts[slot] = at
                lengths[slot] = 1
                cursors[column] = slot + ONE
                at += size
                step += 1
            elif op == SIZED:
                length, at = read_length(data, at, limit, program[here, HOW])
                starts[slot] = at
                lengths[slot] = length
                cursors[column] = slot + ONE
                if length > 0:
                    is_bad = length > limit - at
                    if size and not is_bad:  # text
                        is_bad = length > MAX_STRING or not is_text(data, at, length)
                    at += length
                else:
                    is_bad = length < 0 and (length < -1 or not program[here, NULLABLE])
                step += 1
            elif op in (ARRAY, RUN):
                count, at = read_length(data, at, limit, program[here, HOW])
                starts[slot] = at
                lengths[slot] = count
                cursors[column] = slot + ONE
                is_bad = (
                    count < -1
                    or (count < 0 and not program[here, NULLABLE])
                    or count * size > limit - at
                )
                if op == RUN:
                    at += max(count, 0) * size
                    step += 1
                elif count > 0:
                    if (
                        not is_bad
                        and np.int64(cursors[column + ONE]) + count > (np.int64(column) + 2) * room
                    ):
                        return False
                    top += 1
                    stack[top] = count
                    step += 1
                else:
                    step = program[here, JUMP]
            elif op == NEXT:
                stack[top] -= 1
                if stack[top] > 0:
                    step = program[here, JUMP]
                else:
                    top -= 1
                    step += 1
            elif op in (NULL, STRUCT):
                starts[slot] = 0
                lengths[slot] = -1 if op == NULL else 1
                cursors[column] = slot + ONE
                step += 1
            elif op == GO:
                step = program[here, JUMP]
            elif op == MARK:
                mark = data[at] if at < limit else 0x7F
                is_bad = mark != 1 and mark != size
                at += 1
                step = step + 1 if mark == 1 else program[here, JUMP]
            elif op == TAGS:
                count, at = read_varint(data, at, limit)
                is_bad = count < 0
                top += 1
                stack[top] = count
                step += 1
            elif op == TAG:
                tag, after = read_varint(data, at, limit)
                if stack[top] > 0 and tag == size:
                    length, at = read_varint(data, after, limit)
                    is_bad = length < 0 or length > limit - at
                    stack[top] -= 1
                    top += 1
                    stack[top] = limit
                    limit = at + length
                    step += 1
                else:
                    step = program[here, JUMP]
            elif op == END_TAG:
                is_bad = at != limit
                limit = stack[top]
                top -= 1
                step = program[here, JUMP]
            elif op == END_TAGS:
                is_bad = stack[top] != 0
                top -= 1
                step += 1
            else:  # EXACT
                is_bad = at != limit
                step += 1
    return True


# Copies ---------------------------------------------------------------------------------------


@compiled(INT32S, INT32S)
def add_up(lengths: Int32s, bounds: Int32s) -> bool:
    """Writes the cumulated lengths into ``bounds``, from 0; returns whether any is null (< 0)."""
    total: Int = np.int32(0)
    lowest: Int = np.int32(0)
    bounds[0] = total
    for row in range(len(lengths)):
        lowest = min(lowest, lengths[row])
        total += max(lengths[row], np.int32(0))
        bounds[row + 1] = total
    return bool(lowest < 0)


@compiled(BYTES, INT32S, INT32S, OUT)
def copy(data: Bytes, starts: Int32s, bounds: Int32s, out: Bytes) -> None:
    """Copies the bytes from each start to the span of ``out`` between its bounds."""
    to = np.int64(bounds[0])
    for row in range(len(starts)):
        at, end = np.int64(starts[row]), np.int64(bounds[row + 1])
        while to < end:
            move(out, to, data, at)
            at += STRIDE
            to += STRIDE
        to = end


@compiled(BYTES, INT32S, INT32S, types.int64, OUT)
def copy_numbers(data: Bytes, starts: Int32s, lengths: Int32s, size: Int, out: Bytes) -> bool:
    """Copies one number of ``size`` bytes from each start; returns whether any is null."""
    lowest: Int = np.int32(0)
    for row in range(len(starts)):
        copy_number(data, np.int64(starts[row]), size, out, row * size)
        lowest = min(lowest, lengths[row])
    return bool(lowest < 0)


@compiled(BYTES, INT32S, INT32S, types.int64, OUT)
def copy_runs(data: Bytes, starts: Int32s, bounds: Int32s, size: Int, out: Bytes) -> None:
    """Copies from each start as many numbers of ``size`` bytes as its bounds contain."""
    to = np.int64(0)
    for row in range(len(starts)):
        at, end = np.int64(starts[row]), bounds[row + 1] * size
        while to < end:
            copy_number(data, at, size, out, to)
            at += size
            to += size
