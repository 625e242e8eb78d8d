"""What `make -C tools soak` measures: growth of memory, and age of the oldest event not stored."""

import time
from datetime import UTC, datetime

import pytest

from jobs.simulate.command import simulate
from tools.faults.soak import SPEC, Measured, Writer

MINUTE = 60


def measured(mib_of, minutes=60):
    """A soak whose memory is a function of the minute."""
    samples = [(float(at), mib_of(at / MINUTE)) for at in range(0, minutes * MINUTE, 10)]
    return Measured(every_s=30, samples=samples)


@pytest.mark.parametrize(
    ("mib_of", "slope"),
    [
        (lambda minute: 500, 0),
        (lambda minute: 500 + minute, 10),
        (lambda minute: 500 + min(minute, 20) * 30, 0),  # the warm-up
        (lambda minute: 500 + (900 if minute == 30 else 0), 0),  # one sample
        (lambda minute: 500 - minute / 10, -1),
    ],
    ids=["constant", "growing", "warm-up", "a peak", "falling"],
)
def test_the_slope_is_in_mib_per_ten_minutes_after_the_warm_up(mib_of, slope):
    result = measured(mib_of)

    assert result.slope() == pytest.approx(slope, abs=0.01)
    assert [each for each in result.problems() if "memory" in each] == (
        ["memory grows by 10.00 MiB per 10 minutes"] if slope == 10 else []
    )


def test_a_short_soak_has_no_slope():
    assert measured(lambda minute: 500, minutes=12).problems() == [
        "too short for a slope of memory: give more minutes"
    ]


def test_passes_and_the_newest_event_are_read_from_the_lines_of_watch():
    result = measured(lambda minute: 500)
    result.read(
        [
            "2026-11-20 08:00:40 pass 1: 3 new records, 9 new log lines, 0 alerts, "
            "newest event 2026-11-20 08:00:10 (30.0 s ago), 4.50 s",
            "2026-11-20 08:01:10 pass 2: nothing new, 0.01 s",
            "2026-11-20 08:01:40 pass 3: failed, 1 in a row: disk full, 1.00 s",
        ]
    )

    newest = datetime(2026, 11, 20, 8, 0, 10, tzinfo=UTC).timestamp()
    assert (result.passes, result.failed, result.longest_pass_s) == (3, 1, 4.5)
    assert result.newest == newest
    assert result.problems() == ["1 passes failed"]


@pytest.mark.parametrize(
    ("peak_mib", "replacements", "problems"),
    [
        (1064, 1, []),
        (1065, 1, ["1065 MiB; bound 1064 MiB"]),
        (800, 0, ["the process was not replaced: give more minutes"]),
    ],
)
def test_a_process_that_replaces_itself_has_a_bound_of_memory(peak_mib, replacements, problems):
    """The highest sample of the first two passes, the growth that the watch allows, a pass."""
    result = Measured(every_s=30, growth_mib=300)
    result.sample(0, 700)
    result.read(
        ["2026-11-20 08:00:40 pass 1: 1 new record, 0 alerts, 0.01 s"] * 2
        + ["2026-11-20 08:01:40 memory 690 to 1,000 MiB: replacing the process"] * replacements
    )
    result.sample(60, peak_mib)

    assert (result.first_mib, result.replacements) == (700, replacements)
    assert result.problems() == problems


@pytest.mark.parametrize(("oldest_s", "longest_pass_s"), [(66, 5), (111, 40)])
def test_an_event_may_wait_two_intervals_and_a_pass(oldest_s, longest_pass_s):
    result = measured(lambda minute: 500)
    result.longest_pass_s = longest_pass_s
    result.oldest_s = oldest_s

    assert len(result.problems()) == 1
    result.oldest_s -= 15
    assert result.problems() == []


def test_lines_and_batches_are_written_at_their_times(tmp_path):
    spec = tmp_path / "spec.toml"
    now = datetime.fromtimestamp(int(time.time()), UTC)
    text = SPEC.format(start=now.isoformat().replace("+00:00", "Z"), minutes=5)
    spec.write_text(text)
    simulate(str(spec), str(tmp_path / "simulated"), None)
    writer = Writer(tmp_path / "simulated", tmp_path / "written")
    start = now.timestamp()

    writer.write_until(start + 60)
    half = (tmp_path / "written" / "logs" / "server.log").read_bytes()
    oldest = writer.oldest_after(start - 10)
    writer.write_until(start + 3600)

    whole = (tmp_path / "simulated" / "server.log").read_bytes()
    assert 0 < len(half) < len(whole)
    assert oldest is not None
    assert start <= oldest < start + 60
    assert (tmp_path / "written" / "logs" / "server.log").read_bytes() == whole
    for file in (tmp_path / "simulated" / "segments").rglob("*.log"):
        own = tmp_path / "written" / file.relative_to(tmp_path / "simulated")
        assert own.read_bytes() == file.read_bytes()
