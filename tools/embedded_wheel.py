"""The wheel of regroup-embedded: the files of the wheel regroup with other metadata.

    python -m tools.embedded_wheel    prints its requirements, for its lock file

[tool.regroup.embedded] in pyproject.toml has the dependencies that differ.
"""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_REQUIRES = "Requires-Dist"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def as_embedded(wheel: Path) -> Path:
    """Write the wheel of regroup-embedded beside the wheel of regroup."""
    changes = _settings()["tool"]["regroup"]["embedded"]
    own, version = wheel.name.split("-")[:2]
    before, after = (f"{name}-{version}.dist-info" for name in (own, f"{own}_embedded"))
    target = wheel.with_name(wheel.name.replace(own, f"{own}_embedded", 1))
    record = []
    with zipfile.ZipFile(wheel) as files, zipfile.ZipFile(target, "w") as packed:
        for file in files.infolist():
            contents = files.read(file)
            name = file.filename = file.filename.replace(before, after, 1)
            if name == f"{after}/METADATA":
                contents = embedded_metadata(contents.decode(), changes).encode()
            if name == f"{after}/RECORD":
                contents = "".join([*record, f"{name},,\n"]).encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(contents)}\n")
            packed.writestr(file, contents, zipfile.ZIP_DEFLATED)
    return target


def embedded_metadata(metadata: str, changes: Mapping[str, Any]) -> str:
    """The metadata of regroup with the name and the dependencies of regroup-embedded."""
    head, separator, description = metadata.partition("\n\n")
    return "\n".join(_changed(head.splitlines(), changes)) + separator + description


def _changed(lines: list[str], changes: Mapping[str, Any]) -> Iterator[str]:
    extras = {name: extra for extra, names in changes["optional"].items() for name in names}
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "Name":
            line = f"Name: {value}-embedded"
        if field != _REQUIRES:
            yield line
            continue
        match = _NAME.match(value)
        name = match[0] if match else value
        if name in extras:
            yield f'{line}; extra == "{extras[name]}"'
        elif name not in changes["without"]:
            yield line
    yield from (f"{_REQUIRES}: {each}" for each in changes["dependencies"])
    yield from (f"Provides-Extra: {extra}" for extra in changes["optional"])


def requirements() -> list[str]:
    """What regroup-embedded needs, without its extra."""
    settings = _settings()
    lines = [f"{_REQUIRES}: {each}" for each in settings["project"]["dependencies"]]
    changed = _changed(lines, settings["tool"]["regroup"]["embedded"])
    values = (line.removeprefix(f"{_REQUIRES}: ") for line in changed if line.startswith(_REQUIRES))
    return [value for value in values if "extra ==" not in value]


def _settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


if __name__ == "__main__":
    print(*requirements(), sep="\n")
