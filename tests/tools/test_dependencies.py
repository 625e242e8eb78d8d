"""Lock files have a hash for every package, and docs/licenses.md lists every dependency."""

import re
import tomllib
from pathlib import Path

import pytest

from jobs.engine.jars import SPARK_JARS
from tools.embedded_wheel import requirements
from tools.fetch_jars import broker_jars

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = {
    "requirements.lock": PROJECT["project"]["dependencies"],
    "requirements-embedded.lock": requirements(),
    "requirements-dev.lock": PROJECT["project"]["dependencies"],
}
_NAME = r"^([a-z0-9.-]+)==(\S+)(?: ; [^\\]+)? \\\n"
_ENTRY = re.compile(_NAME + r"(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+")


def locked(name):
    """Versions by name; every line belongs to an entry with hashes."""
    rest, versions = (ROOT / name).read_text(), {}
    while rest:
        entry = _ENTRY.match(rest)
        assert entry, rest[:100]
        versions[entry[1]] = entry[2]
        rest = rest[entry.end() :]
    return versions


def required(requirements):
    names = (re.match(r"[A-Za-z0-9_.-]+", each)[0] for each in requirements)
    return {re.sub(r"[._-]+", "-", name).lower() for name in names}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_every_requirement_and_a_hash_per_package(name):
    assert required(LOCKS[name]) <= set(locked(name))


def test_the_lock_for_development_has_the_same_versions_and_its_groups():
    groups = PROJECT["dependency-groups"]
    users, embedded, developers = map(locked, LOCKS)

    assert users.items() <= developers.items()
    assert embedded.items() - developers.items() == {("pyspark-client", "4.2.0")}
    assert required(
        each for group in groups.values() for each in group if isinstance(each, str)
    ) <= set(developers)


def test_the_license_of_every_dependency_is_listed():
    users, embedded, developers = (set(locked(name)) for name in LOCKS)
    users |= embedded
    pages = (ROOT / "docs" / "licenses.md").read_text().split("\n## ")[1:]
    rows = [re.findall(r"^\| ([A-Z].*?) \| (.*) \|$", page, re.MULTILINE) for page in pages]
    listed = [re.findall("`(.*?)`", " ".join(names for _, names in each)) for each in rows]

    jars = [
        {coordinate.rpartition(":")[0] for coordinate in pinned}
        for pinned in (SPARK_JARS, broker_jars())
    ]
    assert list(map(sorted, listed)) == list(map(sorted, [users, developers - users, *jars]))
