"""Values that a configuration file names instead of having them: ``${env:NAME}``, ``${file:PATH}``.

Therefore a file with settings contains no secrets.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from jobs.console.errors import UsageError

_REFERENCE = re.compile(r"\$\{(env|file):([^}:]+)\}")


def is_reference(text: str) -> bool:
    return _REFERENCE.search(text) is not None


def resolved(settings: dict[str, str], section: str) -> dict[str, str]:
    """The settings with the values of their references; raises UsageError for a missing one."""
    return {name: _resolved(text, f"[{section}] {name}") for name, text in settings.items()}


def _resolved(text: str, where: str) -> str:
    return _REFERENCE.sub(lambda match: _value(match[1], match[2], where), text)


def _value(kind: str, name: str, where: str) -> str:
    if kind == "env":
        if name not in os.environ:
            raise UsageError(f"{where}: set the environment variable {name}")
        return os.environ[name]
    try:
        return Path(name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"{where}: {name}: {why}; give a readable file") from None
