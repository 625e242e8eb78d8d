"""The evidence of some groups as arrays, and columns of rows from arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_type

from jobs.costs.evidence import OWNED, names_of_lists
from jobs.costs.habits import Habits
from jobs.costs.series import NONE, Flags, Floats, Ints, Series
from jobs.costs.tenures import dense, ints_of


@dataclass(frozen=True, kw_only=True)
class EvidenceArrays:
    """``owned`` has the assignments, with the ``group`` and the ``part`` of each.  Groups and
    partitions are numbers from 0.  ``failed`` has positions in failed commits, with the ``client``
    of each.
    """

    owned: pa.StructArray
    group: Ints
    part: Ints
    commits: Series
    habits: Habits
    log_ends: Series
    failed: Series
    client: Ints


def arrays_of(evidence: pa.Table) -> EvidenceArrays:
    """``evidence`` is the evidence of whole groups, see `jobs.costs.evidence`."""
    owned, is_owned = _assignments(evidence)
    part = dense(_column(evidence, "part"))
    group = dense(_column(evidence, "group"))
    group_of_part = np.zeros(int(part.max(initial=-1)) + 1, np.int64)
    group_of_part[part] = group
    commits = _series(evidence, part, "offset")
    failed, client = _failed(evidence, part)
    return EvidenceArrays(
        owned=owned,
        group=group[is_owned],
        part=part[is_owned],
        commits=commits,
        habits=Habits(commits, group_of_part),
        log_ends=_series(evidence, part, "log_end"),
        failed=failed,
        client=client,
    )


def _assignments(evidence: pa.Table) -> tuple[pa.StructArray, Flags]:
    """The assignments, and which rows have them."""
    fields: dict[str, pa.Array] = {}
    for column, names in names_of_lists().items():
        lists = evidence[column].combine_chunks()
        values = pc.list_flatten(lists)
        for n, name in enumerate(names):
            of_name = values.take(pa.array(np.arange(n, len(values), len(names))))
            fields[name] = of_name.cast(to_arrow_type(OWNED[name]))
    is_owned = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    return pa.StructArray.from_arrays(fields.values(), names=fields), is_owned


def _column(table: pa.Table, name: str) -> Ints:
    return ints_of(table[name].combine_chunks())


def _failed(evidence: pa.Table, part: Ints) -> tuple[Series, Ints]:
    if "failed" not in evidence.column_names:
        none = np.zeros(0, np.int64)
        return Series(none, none, none), none
    chosen = _has(evidence, "failed")
    part, at_ms, client = (
        each[chosen] for each in (part, _column(evidence, "at_ms"), _column(evidence, "client"))
    )
    failed = Series(part, at_ms, _column(evidence, "failed")[chosen])
    return failed, client[np.lexsort((at_ms, part))]


def _has(evidence: pa.Table, name: str) -> Flags:
    is_valid = evidence[name].combine_chunks().is_valid()
    return np.asarray(is_valid.to_numpy(zero_copy_only=False), dtype=bool)


def _series(evidence: pa.Table, part: Ints, name: str) -> Series:
    chosen = _has(evidence, name)
    return Series(part[chosen], _column(evidence, "at_ms")[chosen], _column(evidence, name)[chosen])


def times(at_ms: Ints) -> pa.Array:
    return pa.array(at_ms, mask=at_ms == NONE).cast(pa.timestamp("ms", tz="UTC"))


def numbers(values: Ints, is_known: Any) -> pa.Array:
    return pa.array(values, mask=~is_known)


def integers(values: Floats) -> pa.Array:
    is_null = np.isnan(values)
    return pa.array(np.rint(np.where(is_null, 0, values)).astype(np.int64), mask=is_null)


def rounded(values: Floats, digits: int) -> pa.Array:
    # Adding 0.0 turns -0.0 into 0.0, because the two have different hashes.
    return pa.array(np.round(values, digits) + 0.0, mask=np.isnan(values))
