"""The shortcut for LZ4 frames of one block gives the same bytes or the same error."""

import random

import cramjam
import pytest

from jobs.segments import compression
from jobs.segments.batch import BadBatch
from jobs.segments.compression import decompress
from jobs.segments.frames import frames
from jobs.segments.reader import read_batch

BLOCK = 64 << 10
NAME = "00000000000000000000.log"


def frame(content):
    block = bytes(cramjam.lz4.compress_block(content, store_size=False))
    return b"\x04\x22\x4d\x18\x60\x40\x82" + len(block).to_bytes(4, "little") + block + bytes(4)


def outcome(data, limit):
    try:
        return decompress("lz4", data, 2, limit)
    except BadBatch as error:
        return str(error)


def the_long_way(data, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compression, "_single_lz4_block", lambda data, limit: None)
        return outcome(data, limit)


CONTENTS = {
    "nothing": b"",
    "a byte": b"a",
    "text": b"orders-service-7" * 300,
    "a full block": bytes(BLOCK),
    "more than a block": bytes(BLOCK + 1),
    "noise": random.Random(1).randbytes(1000),
    "noise that grows": random.Random(1).randbytes(BLOCK),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_the_shortcut_equals_the_frame_decoder_also_for_damaged_frames(content):
    whole, rnd = frame(content), random.Random(7)
    for attempt in range(150):
        data = bytearray(whole)
        for _ in range(attempt % 3):
            data[rnd.randrange(rnd.choice((min(24, len(data)), len(data))))] = rnd.randrange(256)
        if attempt % 5 == 4:
            del data[rnd.randrange(len(data)) :]
        for limit in (1 << 26, len(content), max(len(content) - 1, 0)):
            assert outcome(bytes(data), limit) == the_long_way(bytes(data), limit)


def test_most_of_a_brokers_batches_take_the_shortcut(captured, monkeypatch):
    short, long = compression._single_lz4_block, []
    monkeypatch.setattr(
        compression,
        "_single_lz4_block",
        lambda data, limit: long.append(short(data, limit) is None) or short(data, limit),
    )
    view = memoryview((captured("lz4") / "__consumer_offsets-2" / NAME).read_bytes())
    for frame in frames(view):
        read_batch(view, frame, partition=2, file="")

    assert (len(long), sum(long)) == (54, 1)
