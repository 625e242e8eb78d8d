"""Turns a layout and the versions at hand into one plan, which walks over all rows field by
field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from coordinator_core.records.compiler import compile_type, snake_case
from jobs.bulk.columns import Struct
from jobs.bulk.data import PADDING, Data
from jobs.bulk.jumps import Jump, Jumps
from jobs.bulk.lengths import COMPACT, INT16, INT32
from jobs.bulk.steps import (
    ArrayStep,
    Element,
    NullableStep,
    NumberStep,
    PartialStep,
    Rows,
    SizedStep,
    Step,
    StructStep,
    TagsStep,
)
from schemas.record_layouts import Field, Layout


class NoPlan(ValueError):
    """A layout with something that plans do not know; the reference reads all of it."""


@dataclass(frozen=True)
class Plan:
    """A layout in versions that are all flexible or all not."""

    step: StructStep
    versions: int
    """How many it is of."""

    def walk(
        self, data: Data, start: np.ndarray, end: np.ndarray, version: np.ndarray
    ) -> tuple[Struct, np.ndarray, np.ndarray]:
        """The fields, where they end, and which rows are bad."""
        rows = Rows(start, end, version if self.versions > 1 else None)
        found = self.step.read(data, rows)
        return found, rows.at, rows.bad | (rows.at > end)


@cache
def plan(layout: Layout, versions: frozenset[int]) -> Plan:
    """NoPlan."""
    step = _struct(layout.fields, versions, is_flexible(layout, min(versions)))
    return Plan(step, len(versions))


def is_flexible(layout: Layout, version: int) -> bool:
    return layout.flexible_versions is not None and version in layout.flexible_versions


def _struct(fields: Iterable[Field], versions: frozenset[int], flexible: bool) -> StructStep:
    plain: list[tuple[str, Step]] = []
    tagged: dict[int, tuple[str, Step]] = {}
    for found in fields:
        has = {found.tagged_versions is not None and v in found.tagged_versions for v in versions}
        if found.tag is not None and has == {True}:
            tagged[found.tag] = snake_case(found.name), _step(found, found.type, versions, flexible)
        elif found.tag is None:
            plain.append((snake_case(found.name), _field(found, versions, flexible)))
    tags = TagsStep(tagged) if flexible else None
    return StructStep(plain, tags, sum(step.size for _, step in plain) + flexible)


def _field(found: Field, versions: frozenset[int], flexible: bool) -> Step:
    here = frozenset(v for v in versions if v in found.versions)
    step = _step(found, found.type, here, flexible)
    return step if here == versions else PartialStep(step, found.versions)


def _step(found: Field, type_name: str, versions: frozenset[int], flexible: bool) -> Step:
    null = _is_nullable(found, versions)
    if type_name.startswith("[]"):
        return _array(found, type_name[2:], versions, flexible, null)
    return _scalar(found, type_name, versions, flexible, null)


def _scalar(
    found: Field, type_name: str, versions: frozenset[int], flexible: bool, null: bool
) -> Step:
    if type_name in _NUMPY:
        dtype = np.dtype(_NUMPY[type_name])
        return NumberStep(type_name, dtype, dtype.itemsize)
    if type_name in ("string", "bytes"):
        lengths = COMPACT if flexible else INT16 if type_name == "string" else INT32
        return SizedStep(lengths, type_name == "string", null, lengths.size)
    struct = _struct(found.fields, versions, flexible)
    return NullableStep(struct, _absent(found)) if null else struct


def _absent(found: Field) -> int:
    """The mark of a struct that is null: 0 in a tagged field, -1 in any other."""
    return 0xFF if found.tag is None else 0


_NUMPY = {
    "bool": "u1",
    "int8": "i1",
    "int16": ">i2",
    "uint16": ">u2",
    "int32": ">i4",
    "uint32": ">u4",
    "int64": ">i8",
    "float64": ">f8",
    "uuid": "V16",
}


def _is_nullable(found: Field, versions: frozenset[int]) -> bool:
    nullable = found.nullable_versions
    has = {nullable is not None and v in nullable for v in versions}
    if len(has) > 1:
        raise NoPlan(f"{found.name}: may be null in some versions")
    return True in has


def _array(
    found: Field, element_type: str, versions: frozenset[int], flexible: bool, null: bool
) -> ArrayStep:
    element = _scalar(found, element_type, versions, flexible, null=False)
    elements = {
        version: Element(
            _jumps(_scalar(found, element_type, frozenset((version,)), flexible, null=False)),
            compile_type(found, element_type, version, flexible, null=False).read,
        )
        for version in versions
    }
    lengths = COMPACT if flexible else INT32
    return ArrayStep(lengths, element, null, lengths.size, elements)


def _jumps(element: Step) -> Jumps | None:
    """Of elements of one version; None where they have arrays of such in them."""
    jumps: list[Jump] = []
    ahead = 0
    for step in _parts(element):
        if isinstance(step, SizedStep):
            jumps.append(Jump(ahead, step.lengths, 1))
            ahead = 0
        elif isinstance(step, ArrayStep) and isinstance(step.element, NumberStep):
            jumps.append(Jump(ahead, step.lengths, step.element.size))
            ahead = 0
        elif isinstance(step, NumberStep | TagsStep):  # of tags, mostly none
            ahead += step.size
        elif not isinstance(step, PartialStep):  # which this version lacks
            return None
    return Jumps(tuple(jumps), ahead) if element.size < PADDING else None


def _parts(step: Step | TagsStep) -> Iterator[Step | TagsStep]:
    if not isinstance(step, StructStep):
        yield step
        return
    for _, inner in step.fields:
        yield from _parts(inner)
    if step.tags is not None:
        yield step.tags
