"""The evidence of a play until a time: what a nightly run would have found then."""

from itertools import takewhile

from coordinator_core.log_lines import parse_line
from jobs.segments import read_segment


def cut(play, out, until_ms):
    """The records and log lines until then."""
    for segment in play.glob("segments/*/*.log"):
        data, size = segment.read_bytes(), 0
        for batch in read_segment(data, partition=0, file=segment.name):
            if batch.timestamps[-1] > until_ms:
                break
            size = batch.position + batch.size
        (out / segment.relative_to(play)).parent.mkdir(parents=True, exist_ok=True)
        (out / segment.relative_to(play)).write_bytes(data[:size])
    lines = (play / "server.log").read_text().splitlines(keepends=True)
    early = takewhile(lambda line: not is_after(line, until_ms), lines)
    (out / "server.log").write_text("".join(early))


def is_after(line, at_ms):
    parsed = parse_line(line.rstrip())
    return parsed is not None and parsed.local_ms > at_ms
