"""Every pattern that reads foreign text takes linear time, also on the texts that it is worst at.

The worst texts are derived from each pattern: what precedes a repetition, what it repeats, and what
lets it fail.  Time is CPU time.  A pattern that a short text does not slow down at all is linear.
Of other patterns, the time for a longer text must grow less than its length to the power of 1.5.
"""

import ast
import importlib
import pkgutil
import re
import signal
import time
from collections import defaultdict
from contextlib import suppress
from functools import cache
from pathlib import Path
from re import _constants as op
from re import _parser

import pytest

import coordinator_core
import jobs
from coordinator_core.log_lines import parse_line
from coordinator_core.log_lines.client_lines import parse_client_line

# Numbers of characters, of the texts of a pattern and of a line.
LENGTHS, OF_LINE = (20_000, 20_000, 80_000), (20_000, 100_000, 1_000_000)
SOON_S, SOON_OF_LINE_S, MOST_S = 0.02, 0.1, 5.0
AT_START = {"match", "fullmatch"}
ANYWHERE = {"search", "finditer", "findall", "sub", "split"}
COMMON = (" ", "a", "A", "0", ".", "[", "(", "{", '"', "\\", "-", ",", ":", "|", "\t", "a.", "a=")
COMMON += ("a ", "0 ", ", ", "/", "\n", "\x1b[")
CHARACTERS = "aA0 ._-[](){}\"'\\,:;=|/\t\n$@#!│é\x00<>%&"
# Patterns that only see texts of bounded length.
BOUNDED = {
    "coordinator_core.log_lines.truncated._ELLIPSIS": "messages of at most 1,000 characters",
}


# Patterns -------------------------------------------------------------------------------------


@cache
def modules():
    loaded = []
    for package in (coordinator_core, jobs):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            loaded.append(importlib.import_module(each.name))
    return loaded


def patterns_in(value, seen):
    """The patterns in a value and in what it contains; functions contain their closure."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from patterns_in(each, seen)
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from patterns_in(each, seen)
    elif closure := getattr(value, "__closure__", None):
        for cell in closure:
            with suppress(ValueError):  # an empty cell
                yield from patterns_in(cell.cell_contents, seen)


def methods_by_name(module):
    """How a module uses the patterns of each of its names; of "": of other variables."""
    used = defaultdict(set)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in AT_START | ANYWHERE:
            name = getattr(node.value, "id", "")
            is_pattern = isinstance(vars(module).get(name), re.Pattern)
            if not is_pattern and node.attr == "split":  # of a text
                continue
            used[name if is_pattern else ""].add(node.attr)
    return used


@cache
def used_patterns():
    """Pattern -> (first name, the methods that any module calls)."""
    by_use = {}
    for module in modules():
        used = methods_by_name(module)
        for name, value in vars(module).items():
            for pattern in patterns_in(value, set()):
                methods = used[name if isinstance(value, re.Pattern) else ""]
                by_use.setdefault(pattern, (f"{module.__name__}.{name}", set()))[1].update(methods)
    return by_use


# Texts ----------------------------------------------------------------------------------------


def in_class(members, number):
    negated = members[0][0] is op.NEGATE

    def has(character):
        code = ord(character)
        for kind, value in members:
            if kind is op.LITERAL and code == value:
                return True
            if kind is op.RANGE and value[0] <= code <= value[1]:
                return True
            if kind is op.CATEGORY:
                name = str(value)
                word = character.isalnum() or character == "_"
                digit, space = character.isdigit(), character.isspace()
                fits = {"DIGIT": digit, "SPACE": space, "WORD": word}[name.rsplit("_", 1)[-1]]
                if fits != ("NOT" in name):
                    return True
        return False

    fitting = [each for each in CHARACTERS if has(each) != negated]
    if not negated:
        fitting += [chr(value) for kind, value in members if kind is op.LITERAL]
        fitting += [chr(value[0]) for kind, value in members if kind is op.RANGE]
    return fitting[number % len(fitting)] if fitting else "?"


def sample(items, number=0):
    """A text that the items match; other numbers give other texts."""
    return "".join(sample_of_item(*item, number) for item in items)


REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def sample_of_item(kind, value, number):
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.NOT_LITERAL:
        return next(each for each in CHARACTERS if ord(each) != value)
    if kind is op.ANY:
        return "a0 "[number % 3]
    if kind is op.IN:
        return in_class(value, number)
    if kind is op.BRANCH:
        return sample(value[1][number % len(value[1])], number)
    if kind is op.SUBPATTERN:
        return sample(value[3], number)
    if kind is op.ATOMIC_GROUP:
        return sample(value, number)
    if kind in REPEATS:
        return sample(value[2], number) * max(value[0], int(number > 0))
    return ""


def repetitions(items, before=""):
    """What precedes each long repetition, and the items that are repeated."""
    for kind, value in items:
        if kind in REPEATS:
            if value[1] is op.MAXREPEAT or value[1] >= 500:
                yield before, value[2]
            yield from repetitions(value[2], before)
        elif kind is op.SUBPATTERN:
            yield from repetitions(value[3], before)
        elif kind is op.ATOMIC_GROUP:
            yield from repetitions(value, before)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from repetitions(branch, before)
        elif kind in (op.ASSERT, op.ASSERT_NOT) and value[0] > 0:
            yield from repetitions(value[1], before)
        before += sample([(kind, value)])


def worst_cases(pattern):
    """(beginning, what is repeated after it)"""
    items = _parser.parse(pattern.pattern, pattern.flags)
    cases = [("", each) for each in COMMON] + [("", sample(items, 1))]
    for before, repeated in repetitions(items):
        for text in {sample(repeated, number) for number in range(4)} - {""}:
            cases += [(before, text), ("", before + text), ("", before)]
    return [case for case in dict.fromkeys(cases) if case[1]]


def text_of(pattern, beginning, repeated, length, end):
    text = beginning + repeated * (length // len(repeated)) + end
    return text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text


# Time -----------------------------------------------------------------------------------------


class TooSlow(Exception):
    pass


def cpu_s(call, most_s):
    """CPU seconds of a call, or None if it takes longer than this.  Patterns react to signals."""

    def interrupt(*_):
        raise TooSlow

    previous = signal.signal(signal.SIGVTALRM, interrupt)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, most_s)
        try:
            call()
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return time.process_time() - began
    except TooSlow:
        return None
    finally:
        signal.signal(signal.SIGVTALRM, previous)


def is_linear(call_of, lengths, soon_s):
    """``call_of``: a call on a text of a length."""
    short, long, longest = lengths
    if cpu_s(call_of(short), soon_s) is not None:
        return True
    # The exponent is 1 for linear growth and 2 for quadratic growth.
    most_growth = (longest / long) ** 1.5
    for _ in range(3):  # Other processes slow down some calls.
        seconds = cpu_s(call_of(long), MOST_S)
        if seconds is None:
            return False
        if cpu_s(call_of(longest), most_growth * seconds) is not None:
            return True
    return False


def call_on(pattern, method, beginning, repeated, end):
    def of(length):
        text = text_of(pattern, beginning, repeated, length, end)
        if method in AT_START | {"search"}:
            return lambda: getattr(pattern, method)(text)
        return lambda: sum(1 for _ in pattern.finditer(text))

    return of


def slow_texts(pattern, methods):
    calls = (methods & (AT_START | {"search"})) | ({"finditer"} if methods - AT_START else set())
    for beginning, repeated in worst_cases(pattern):
        for end in ("\x00", ""):
            for method in sorted(calls):
                call = call_on(pattern, method, beginning, repeated, end)
                if not is_linear(call, LENGTHS, SOON_S):
                    yield method, beginning, repeated, end


# Tests ----------------------------------------------------------------------------------------


@pytest.mark.campaign  # This test takes a minute of CPU time.
@pytest.mark.parametrize("package", ["coordinator_core", "jobs"])
def test_patterns_take_linear_time(package):
    slow = {}
    for pattern, (name, methods) in used_patterns().items():
        if name.startswith(package) and name not in BOUNDED:
            first = next(slow_texts(pattern, methods or AT_START | ANYWHERE), None)
            slow |= {} if first is None else {name: first}

    assert slow == {}


@pytest.mark.parametrize(
    ("pattern", "methods", "is_slow"),
    [
        (r"\s+x", {"search"}, True),
        (r"(?<!\s)\s+x", {"search"}, False),
        (r"\s+x", {"match"}, False),
        (r"\s*;?\s*", {"fullmatch"}, True),
        (r"from .* to", {"search"}, True),
        (r".{1,300}x", {"search"}, False),
    ],
)
def test_this_test_finds_quadratic_patterns(pattern, methods, is_slow):
    first = next(slow_texts(re.compile(pattern), methods), None)

    assert (first is not None) == is_slow


HEAD = "[2026-11-20 10:00:00,000] INFO "
PREFIX = "[GroupCoordinator 1]: "
CLIENT = "[Consumer clientId=c, groupId=g] "
FILLINGS = (*COMMON, " | ", " (a.b)", "(a.scala:1)", "\\n", "`", " [1]", "…", '"a":', "é", "│")
BEGINNINGS = ("", HEAD, f"{HEAD}{PREFIX}", f"{HEAD}{PREFIX}Preparing to rebalance group ", CLIENT)


@pytest.mark.parametrize("parse", [parse_line, parse_client_line])
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_long_lines_take_linear_time(parse, beginning):
    slow = []
    for filling in FILLINGS:
        for end in ("", "x"):

            def of(length, filling=filling, end=end):
                line = beginning + filling * (length // len(filling)) + end
                return lambda: parse(line)

            if not is_linear(of, OF_LINE, SOON_OF_LINE_S):
                slow.append((filling, end))

    assert slow == []
