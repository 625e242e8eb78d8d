"""The tenures of partitions as arrays: uninterrupted ownership by one process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.costs.series import NONE, Flags, Ints
from jobs.lake.dates import NEVER_MS

# A cooperative member keeps partitions through rebalances.  Its tenure begins with an assignment at
# most this long before the last assignment, because a run for some dates reads no older
# assignments.
LONGEST_CHAIN_MS = 86_400_000
# A member that departs and joins in one poll is assigned its partitions again within this time.
AT_ONCE_MS = 500


@dataclass(frozen=True, kw_only=True)
class Tenures:
    """One element per tenure that ended; times are in ms, and NONE stands for null.

     ``row`` is the row of the tenure's last assignment in the input.  ``group``, ``part`` and
    ``member`` (one assignment of a member) are numbers from 0.  ``client`` is the hash of its
    client id.  ``next_row`` and ``next_ms`` are the first assignment of the partition's next owner;
    NONE and NEVER_MS without one.  ``is_replaced`` means that a static member stopped, and the next
    process with its instance id took over.  ``is_kept`` means that the owner kept the partition
    until a response asked it to give it up, and gave it up then.  ``is_eager`` means that its
    classic group revokes all partitions in a rebalance.  ``is_back`` means that the process itself
    is the next owner, and got the partition as soon as it had departed.  ``is_migrated`` means that
    the next owner is of the group's next incarnation, which has another protocol, and every process
    that owned partitions at the end came back in it.
    For more fields, see `jobs.ownership.tenures`.
    """

    row: Ints
    group: Ints
    part: Ints
    member: Ints
    client: Ints
    partition: Ints
    generation: Ints
    from_ms: Ints
    until_ms: Ints
    next_row: Ints
    next_ms: Ints
    revoking_ms: Ints
    departed_ms: Ints
    heard_ms: Ints
    due_ms: Ints
    back_ms: Ints
    polled_ms: Ints
    poll_ms: Ints
    is_replaced: Flags
    is_kept: Flags
    is_static: Flags
    is_eager: Flags
    is_back: Flags
    is_migrated: Flags


_TAKEN = (
    "revoking_ms", "departed_ms", "heard_ms", "due_ms", "back_ms", "polled_ms", "poll_ms",
    "partition", "incarnation", "generation", "from_ms", "until_ms", "client",
)  # fmt: skip


def tenures_of(owned: pa.StructArray, group: Ints, part: Ints) -> Tenures:
    """``owned`` has assignments of partitions, see `jobs.costs.evidence`, with the ``group`` and
    the ``part`` of each.
    """
    process = codes_of(owned.field("process"))
    how = owned.field("how")
    is_kept = pc.and_(pc.equal(how, "revoked"), pc.invert(owned.field("is_estimated")))
    columns = {name: ints_of(owned.field(name)) for name in _TAKEN}
    order = np.lexsort((columns["from_ms"], columns["generation"], columns["incarnation"], part))
    columns = {name: values[order] for name, values in columns.items()}
    group, part, process = group[order], part[order], process[order]
    member = codes_of(owned.field("member_id"))[order]
    is_same = np.zeros(len(order), bool)
    is_same[1:] = (part[1:] == part[:-1]) & (process[1:] == process[:-1])
    is_continued = is_same
    incarnation = columns.pop("incarnation")
    is_continued[1:] &= incarnation[1:] == incarnation[:-1]
    is_continued[1:] &= columns["until_ms"][:-1] >= columns["from_ms"][1:]
    is_replaced = flags_of(pc.equal(how, "replaced"))[order]
    is_continued[1:] &= ~is_replaced[:-1]
    # A slow application that polls again joins as a new member.
    is_slow = (columns["polled_ms"] >= columns["from_ms"]) & (columns["polled_ms"] != NONE)
    is_slow &= columns["polled_ms"] <= columns["until_ms"]
    is_continued[1:] &= ~is_slow[:-1]
    last = np.append(np.flatnonzero(is_continued[1:] == 0), len(order) - 1)[: len(order)]
    first = _first_of_chains(is_continued, last, columns["from_ms"])
    next_row, next_ms = np.full(len(last), NONE), np.full(len(last), NEVER_MS)
    has_next = part[last[:-1]] == part[last[1:]]
    next_row[:-1][has_next] = order[first[1:]][has_next]
    next_ms[:-1][has_next] = columns["from_ms"][first[1:]][has_next]
    is_back = np.zeros(len(last), bool)
    is_back[:-1] = has_next & (process[last[:-1]] == process[first[1:]])
    is_back &= next_ms <= columns["departed_ms"][last] + AT_ONCE_MS
    following = np.full(len(last), -1)
    following[:-1][has_next] = first[1:][has_next]
    is_modern = flags_of(owned.field("is_modern"))[order]
    is_migrated = _migrated(group, incarnation, process, is_modern, last, following)
    ended = columns["until_ms"][last] < NEVER_MS
    # A static member and its next process may have the same member id.
    of_member = (group, columns["generation"], member, columns["from_ms"])
    of_last = {name: values[last] for name, values in columns.items()}
    of_last["from_ms"] = columns["from_ms"][first]
    arrays = of_last | {
        "row": order[last],
        "group": group[last],
        "part": part[last],
        "member": dense(*(values[last] for values in of_member)),
        "is_replaced": is_replaced[last],
        "is_kept": flags_of(is_kept)[order][last],
        "is_static": flags_of(owned.field("is_static"))[order][last],
        "is_eager": flags_of(owned.field("next_generation").is_valid())[order][last],
        "is_back": is_back,
        "is_migrated": is_migrated,
        "next_row": next_row,
        "next_ms": next_ms,
    }
    return Tenures(**{name: values[ended] for name, values in arrays.items()})


def _migrated(
    group: Ints, incarnation: Ints, process: Ints, is_modern: Flags, last: Ints, following: Ints
) -> Flags:
    """Values per chain, see `Tenures`.  ``last`` is its last assignment; ``following`` is the first
    assignment of its partition's next chain, -1 without one.
    """
    is_last = (following < 0) | (incarnation[following] != incarnation[last])
    crosses = is_last & (following >= 0) & (is_modern[following] != is_modern[last])
    migrated = np.zeros(len(last), bool)
    for of_group, number in {(group[at], incarnation[at]) for at in last[crosses]}:
        own = is_last & (group[last] == of_group) & (incarnation[last] == number)
        next_number = incarnation[following[own & crosses]].min()
        back = process[(group == of_group) & (incarnation == next_number)]
        if np.isin(process[last[own]], back).all():
            migrated |= own & crosses
    return migrated


def _first_of_chains(is_continued: Flags, last: Ints, from_ms: Ints) -> Ints:
    """The first assignment of each chain, at most LONGEST_CHAIN_MS before its last one."""
    chain = np.cumsum(~is_continued) - 1
    of_last = from_ms[last][chain] if len(last) else from_ms
    is_near = from_ms >= of_last - LONGEST_CHAIN_MS
    first = np.full(len(last), len(is_continued))
    at = np.flatnonzero(is_near)
    np.minimum.at(first, chain[at], at)
    return first


def dense(*keys: Ints) -> Ints:
    """Numbers from 0 for the different combinations of keys."""
    codes = _ranks(keys[0])
    for key in keys[1:]:
        ranks = _ranks(key)
        codes = _ranks(codes * (int(ranks.max(initial=0)) + 1) + ranks)
    return codes


def _ranks(values: Ints) -> Ints:
    """The place of each value among the different values in their order.

    Millions of commits have few partitions, so hashing them takes less time than sorting.
    """
    encoded = pa.array(values).dictionary_encode()
    different = encoded.dictionary.to_numpy()
    ranks = np.empty(len(different), np.int64)
    ranks[np.argsort(different)] = np.arange(len(different))
    return np.asarray(ranks[encoded.indices.to_numpy()])


def codes_of(strings: pa.Array) -> Ints:
    """A number per different string; NONE for null."""
    return ints_of(pc.dictionary_encode(strings).indices)


def ints_of(values: pa.Array) -> Ints:
    filled = pc.fill_null(values.cast(pa.int64()), NONE)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def flags_of(values: pa.Array) -> Flags:
    return np.asarray(pc.fill_null(values, False).to_numpy(zero_copy_only=False), dtype=bool)
