"""Generated fields of every type and version survive; any bytes are read or raise BadRecord."""

import gzip
import json
from base64 import b64decode, urlsafe_b64encode
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.records import (
    Assignment,
    BadRecord,
    Record,
    StickyUserData,
    Subscription,
    decode,
    decode_assignment,
    decode_cooperative_sticky_user_data,
    decode_key,
    decode_sticky_user_data,
    decode_subscription,
    decode_value,
    encode_assignment,
    encode_key,
    encode_sticky_user_data,
    encode_subscription,
    encode_value,
)
from schemas.record_layouts import layouts

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[2] / "data/records/captured.jsonl.gz"
CAPTURED = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
QUICK = settings(max_examples=15, deadline=None, derandomize=True, database=None)
THOROUGH = settings(max_examples=250, deadline=None, derandomize=True, database=None)

SIGNED = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXT = st.text(max_size=5)
TAGS = st.dictionaries(st.integers(100, 2**32 - 1), st.binary(max_size=4), min_size=1, max_size=2)
UUIDS = st.binary(min_size=16, max_size=16).map(
    lambda raw: urlsafe_b64encode(raw).decode().rstrip("=")
)


def snake_case(name):
    """GroupInstanceId and groupInstanceId to group_instance_id."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def values_of(field, type_name, version, flexible):
    if type_name.startswith("[]"):
        return st.lists(values_of(field, type_name[2:], version, flexible), max_size=3)
    if type_name in SIGNED:
        bits = SIGNED[type_name]
        return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if type_name == "uint16":
        return st.integers(0, 2**16 - 1)
    if type_name in ("string", "uuid", "bytes"):
        return {"string": TEXT, "uuid": UUIDS, "bytes": st.binary(max_size=5)}[type_name]
    return fields_of(field.fields, version, flexible)


def fields_of(fields, version, flexible):
    by_name = {}
    for field in fields:
        if version in field.versions:
            values = values_of(field, field.type, version, flexible)
            nullable = field.nullable_versions is not None and version in field.nullable_versions
            by_name[snake_case(field.name)] = st.none() | values if nullable else values
    structs = st.fixed_dictionaries(by_name)
    return st.builds(with_tags, structs, st.just({}) | TAGS) if flexible else structs


def with_tags(struct, tags):
    listed = [[tag, tags[tag]] for tag in sorted(tags)]
    return struct | {"unknown_tagged_fields": listed} if tags else struct


def every(kind):
    """Each layout of that kind in each version."""
    params = []
    for layout in layouts():
        if layout.type == kind:
            lowest, highest = layout.valid_versions.lowest, layout.valid_versions.highest
            for version in range(lowest, highest + 1):
                name = f"{layout.name}-{version}-{layout.written_until or 'today'}"
                params.append(pytest.param(layout, version, id=name))
    return params


def fields_in(layout, version):
    """Unknown tags only in current layouts: the replaced ones are no longer written."""
    flexible = layout.flexible_versions is not None and version in layout.flexible_versions
    return fields_of(layout.fields, version, flexible and layout.written_until is None)


def attempt(read, *data):
    """Returns the result of ``read``, or its BadRecord."""
    try:
        return read(*data)
    except BadRecord as bad:
        return bad


@pytest.mark.parametrize(("layout", "version"), every("coordinator-key"))
def test_keys_survive(layout, version):
    @QUICK
    @given(fields_in(layout, version))
    def survives(fields):
        key = decode_key(encode_key(layout.api_key, fields))
        assert (key.type, key.fields) == (layout.api_key, fields)

    survives()


@pytest.mark.parametrize(("layout", "version"), every("coordinator-value"))
def test_values_survive(layout, version):
    @QUICK
    @given(fields_in(layout, version))
    def survives(fields):
        data = encode_value(layout.api_key, version, fields)
        assert decode_value(layout.api_key, data) == (version, fields)

    survives()


@pytest.mark.parametrize(("layout", "version"), every("coordinator-value"))
def test_any_bytes_after_a_version_are_read_or_refused(layout, version):
    @QUICK
    @given(st.binary(max_size=60))
    def holds(data):
        read_or_refused(layout.api_key, version.to_bytes(2, "big") + data)

    holds()


@pytest.mark.parametrize(("layout", "version"), every("coordinator-value"))
def test_any_cut_or_change_of_a_value_is_read_or_refused(layout, version):
    @QUICK
    @given(fields_in(layout, version), st.data())
    def holds(fields, choice):
        data = bytearray(encode_value(layout.api_key, version, fields))
        at = choice.draw(st.integers(2, len(data)))
        if at < len(data):
            data[at] = choice.draw(st.integers(0, 255))
        read_or_refused(layout.api_key, bytes(data[: choice.draw(st.integers(at, len(data)))]))

    holds()


def read_or_refused(type_, value):
    """The fields survive encoding; ``value`` may be another encoding of the same fields."""
    result = attempt(decode_value, type_, value)
    if isinstance(result, BadRecord):
        assert 0 <= result.position <= len(value)
        return
    version, fields = result
    assert decode_value(type_, encode_value(type_, version, fields)) == (version, fields)


@THOROUGH
@given(st.binary(max_size=80))
def test_any_key_is_read_or_refused(data):
    result = attempt(decode_key, data)
    if isinstance(result, BadRecord):
        assert 0 <= result.position <= len(data)
        return
    assert encode_key(result.type, result.fields) == data


@THOROUGH
@given(st.sampled_from(CAPTURED), st.data())
def test_any_flipped_bits_of_a_captured_record_are_read_or_refused(line, choice):
    value = bytearray(b64decode(line["value"] or ""))
    for at in choice.draw(st.lists(st.integers(0, max(len(value) - 1, 0)), max_size=3)):
        if value:
            value[at] ^= 1 << choice.draw(st.integers(0, 7))

    result = attempt(decode, b64decode(line["key"]), bytes(value))

    assert isinstance(result, Record) or 0 <= result.position <= len(value)


@pytest.mark.parametrize(
    "read",
    [
        decode_subscription,
        decode_assignment,
        decode_sticky_user_data,
        decode_cooperative_sticky_user_data,
    ],
)
def test_any_blob_of_a_member_is_read_or_refused(read):
    @THOROUGH
    @given(
        st.sampled_from([b"", b"\0\0", b"\0\1", b"\0\2", b"\0\3", b"\0\7"]), st.binary(max_size=60)
    )
    def holds(version, data):
        result = attempt(read, version + data)
        assert not isinstance(result, BadRecord) or 0 <= result.position <= len(version + data)

    holds()


PAIRS = st.lists(
    st.tuples(TEXT, st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3)), max_size=3
)
USER_DATA = st.none() | st.binary(max_size=5)


@THOROUGH
@given(
    st.integers(0, 3),
    st.lists(TEXT, max_size=3),
    USER_DATA,
    PAIRS,
    st.integers(-1, 9),
    st.none() | TEXT,
)
def test_subscriptions_survive(version, topics, user_data, owned, generation_id, rack_id):
    """Fields that the version lacks come back as defaults."""
    subscription = Subscription(version, topics, user_data, owned, generation_id, rack_id)

    assert decode_subscription(encode_subscription(subscription)) == Subscription(
        version,
        topics,
        user_data,
        owned if version >= 1 else [],
        generation_id if version >= 2 else -1,
        rack_id if version >= 3 else None,
    )


@THOROUGH
@given(st.integers(0, 3), PAIRS, USER_DATA)
def test_assignments_survive(version, partitions, user_data):
    assignment = Assignment(version, partitions, user_data)

    assert decode_assignment(encode_assignment(assignment)) == assignment


@THOROUGH
@given(PAIRS, st.integers(-(2**31), 2**31 - 1))
def test_sticky_user_data_survives(partitions, generation):
    user_data = StickyUserData(partitions, generation)

    assert decode_sticky_user_data(encode_sticky_user_data(user_data)) == user_data
