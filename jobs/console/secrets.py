"""Values of secret settings, which no message and no table may have.

Messages of Kafka's clients, Spark and object stores may repeat a setting, so known secrets are
replaced wherever Regroup prints or stores a message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

# Parts of the names of secret settings and environment variables.  Spark redacts the same names in
# its user interface and its event log.
SECRET_NAMES = (
    "(?i)secret|password|passphrase|token|credential|jaas|[._]sas[._]"
    "|(access|account|private)[._]?key"
)
HIDDEN = "[hidden]"
_NAME = re.compile(SECRET_NAMES)
_QUOTED = re.compile(r'(?:password|secret)="((?:[^"\\]|\\.)*)"', re.IGNORECASE)
# A shorter value may occur within any word, so it is not replaced.
_FEWEST_CHARACTERS = 6
_known: set[str] = set()


def is_secret(name: str) -> bool:
    """Returns whether a setting of this name may be a secret."""
    return _NAME.search(name) is not None


def remember(settings: Mapping[str, str]) -> None:
    """Hide the values of secret settings from now on."""
    _known.update(_values(settings))


def without_secrets(text: str) -> str:
    """The text with ``[hidden]`` for each secret of the configuration and of the environment."""
    values = _known.union(_values(os.environ))
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def _values(settings: Mapping[str, str]) -> Iterable[str]:
    """Values of secret names that are not paths; for a login configuration also the password in
    it.
    """
    for name, value in settings.items():
        if is_secret(name) and not os.path.exists(value):
            parts = (value, *_QUOTED.findall(value))
            yield from (each for each in parts if len(each) >= _FEWEST_CHARACTERS)
