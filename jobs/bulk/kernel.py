"""The compiled loops of bulk decoding: one goes through records by a program's steps, the others
take from the bytes what it found.

numba is imported here alone.  Machine code is kept beside this file or in the user's cache; where
neither can be written, each process makes its own.  Bytes have PADDING behind them, since they are
read and written by the word.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from coordinator_core.records.primitives import MAX_STRING
from jobs.bulk.byte_rows import PADDING
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
    RUN,
    SIZE,
    SIZED,
    TAG,
    TAGS,
    THERE,
)

TABLE = types.int32[:, ::1]
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
OUT = types.uint8[::1]
INT32S, INT64S = types.int32[::1], types.int64[::1]

STRIDE = PADDING
WORD = 8  # bytes
ONE = np.uint64(1)
MAX_END = 2**31 - 1  # of a row
CUT_SHORT = -2  # no length; -1 is null's
NOT_ASCII = np.uint64(0x8080808080808080)


def compiled(*signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Without counting references (``_nrt``), which in the walk costs as much as the rest."""

    def compile_now(function: Callable[..., Any]) -> Any:
        found = njit(_nrt=False)(function)
        with suppress(RuntimeError, OSError):  # there is nowhere to keep it
            found.enable_caching()
            found.compile(signature)
        if not found.signatures:
            found = njit(signature, _nrt=False)(function)
        found.disable_compile()
        return found

    return compile_now


# Memory ---------------------------------------------------------------------------------------


@intrinsic
def word_at(typing, data, at):
    """The eight bytes from any place on, of which seven may lie behind the end."""

    def load(context, builder, signature, arguments):
        return builder.load(
            _pointer(context, builder, signature, arguments, ir.IntType(64)), align=1
        )

    return types.uint64(data, types.int64), load


@intrinsic
def put_word(typing, out, to, word):
    def store(context, builder, signature, arguments):
        place = _pointer(context, builder, signature, arguments, ir.IntType(64))
        builder.store(arguments[2], place, align=1)

    return types.void(out, types.int64, types.uint64), store


@intrinsic
def move(typing, out, to, data, at):
    """STRIDE bytes, by as wide registers as there are."""

    def code(context, builder, signature, arguments):
        stride = ir.VectorType(ir.IntType(8), STRIDE)
        to_place = _pointer(context, builder, signature, arguments, stride)
        place = _pointer(context, builder, signature, arguments, stride, 2)
        builder.store(builder.load(place, align=1), to_place, align=1)

    return types.void(out, types.int64, data, types.int64), code


def _pointer(context, builder, signature, arguments, type_, index=0):
    array = make_array(signature.args[index])(context, builder, arguments[index])
    place = builder.gep(array.data, [arguments[index + 1]])
    return builder.bitcast(place, type_.as_pointer())


@njit(inline="always")
def swapped(word):
    low_bytes, low_pairs = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
    word = (word & low_bytes) << np.uint64(8) | (word >> np.uint64(8)) & low_bytes
    word = (word & low_pairs) << np.uint64(16) | (word >> np.uint64(16)) & low_pairs
    return word << np.uint64(32) | word >> np.uint64(32)


@njit(inline="always")
def copy_number(data, at, size, out, to):
    """From big-endian to the machine's own; an id, which is longer, as it is."""
    if size > WORD:
        move(out, to, data, at)
    else:
        put_word(out, to, swapped(word_at(data, at)) >> np.uint64(8 * (WORD - size)))


# Lengths and text -----------------------------------------------------------------------------


@njit(inline="always")
def read_varint(data, at, limit):
    """An unsigned one of 32 bits, and where it ends."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= limit:
            break
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value if value <= 0xFFFFFFFF else CUT_SHORT), at
    return CUT_SHORT, at


@njit(inline="always")
def read_length(data, at, limit, how):
    """``how``: a varint of one more, or so many bytes."""
    if how == COMPACT:
        value, at = read_varint(data, at, limit)
        return (value - 1 if value >= 0 else CUT_SHORT), at
    if limit - at < how:
        return CUT_SHORT, at
    return np.int64(swapped(word_at(data, at))) >> 8 * (WORD - how), at + how


@njit(inline="always")
def is_text(data, at, length):
    """UTF-8, which nearly all is by being ASCII: ids, addresses, names of topics."""
    seen = np.uint64(0)
    left = length
    while left >= 8:
        seen |= word_at(data, at)
        at += 8
        left -= 8
    if left:
        seen |= word_at(data, at) << np.uint64(64 - 8 * left)
    return seen & NOT_ASCII == 0 or is_utf8(data, at + left - length, at + left)


@njit(inline="always")
def is_utf8(data, at, end):
    """As Python has it: no surrogates, nothing longer than need be."""
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
def walk(program, entries, data, start, end, version, room, found, cursors, stack, good):
    """Of each row, where each field starts and how long it is: both from the columns' first
    ``cursors`` on, which go on.

    A row with anything that is not certain to be read as the reference codec reads it is not good:
    it gets what step 0 writes, which is nulls.  False where a column has not enough ``room``.
    """
    starts, lengths = found[0], found[1]
    cursors, before = cursors[0], cursors[1]
    for index in range(len(cursors)):
        cursors[index] = index * room
    for row in range(len(start)):
        at, limit = start[row], end[row]
        step = np.int64(0)
        if 0 <= version[row] < len(entries) and limit <= MAX_END:
            step = np.int64(entries[version[row]])
        good[row] = step != 0
        for index in range(len(cursors)):
            before[index] = cursors[index]
        top = -1
        is_bad = False
        while True:
            if is_bad:
                is_bad = False
                good[row] = False
                for index in range(len(cursors)):
                    cursors[index] = before[index]
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
            elif op in (NULL, THERE):
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
                tag, behind = read_varint(data, at, limit)
                if stack[top] > 0 and tag == size:
                    length, at = read_varint(data, behind, limit)
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
            else:  # WHOLE
                is_bad = at != limit
                step += 1
    return True


# Taking ---------------------------------------------------------------------------------------


@compiled(BYTES, INT64S, INT64S, INT64S)
def read_headers(data, start, end, headers):
    """The int16 that each row begins with; -1 where it is too short."""
    for row in range(len(start)):
        length, _ = read_length(data, start[row], end[row], 2)
        headers[row] = max(length, -1)


@compiled(INT32S, INT32S)
def add_up(lengths, bounds):
    """Where each stretch begins and ends when one lies behind the other; whether any is null."""
    to = least = np.int32(0)
    bounds[0] = to
    for row in range(len(lengths)):
        least = min(least, lengths[row])
        to += max(lengths[row], np.int32(0))
        bounds[row + 1] = to
    return least < 0


@compiled(BYTES, INT32S, INT32S, OUT)
def copy(data, starts, bounds, out):
    """What is between the bounds, from each start."""
    to = np.int64(0)
    for row in range(len(starts)):
        at, end = np.int64(starts[row]), np.int64(bounds[row + 1])
        while to < end:
            move(out, to, data, at)
            at += STRIDE
            to += STRIDE
        to = end


@compiled(BYTES, INT32S, INT32S, types.int64, OUT)
def copy_numbers(data, starts, lengths, size, out):
    """A number of ``size`` bytes from each start; whether any is null."""
    least = np.int32(0)
    for row in range(len(starts)):
        copy_number(data, np.int64(starts[row]), size, out, row * size)
        least = min(least, lengths[row])
    return least < 0


@compiled(BYTES, INT32S, INT32S, types.int64, OUT)
def copy_runs(data, starts, bounds, size, out):
    """As many numbers of ``size`` bytes as are between the bounds, from each start."""
    to = np.int64(0)
    for row in range(len(starts)):
        at, end = np.int64(starts[row]), bounds[row + 1] * size
        while to < end:
            copy_number(data, at, size, out, to)
            at += size
            to += size
