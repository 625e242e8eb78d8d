"""Files that the wheel contains beside its code: default configurations and the demo's incidents.

In a checkout these files are in conf/ and examples/ at the root; setup.py copies them into the
wheel, below jobs/packaged/.
"""

from __future__ import annotations

import os
from pathlib import Path

_JOBS = Path(__file__).resolve().parents[1]
CHECKOUT: Path | None = _JOBS.parent if (_JOBS.parent / "pyproject.toml").is_file() else None
_FILES = CHECKOUT or _JOBS / "packaged"

CONF = _FILES / "conf"
DEFAULT = "local.toml"
NAME = "regroup.toml"
VARIABLE = "REGROUP_CONFIG"
EXAMPLES = _FILES / "examples"


def configuration_file(name: str | None) -> Path:
    """The file of ``--conf``; without this option the file of $REGROUP_CONFIG, else regroup.toml in
    the current folder, else conf/local.toml. conf/large.toml also names the packaged file if the
    current folder has no such file.
    """
    name = name or os.environ.get(VARIABLE) or (NAME if Path(NAME).is_file() else None)
    if name is None:
        return CONF / DEFAULT
    packaged = CONF.parent / name
    return packaged if packaged.is_file() and not Path(name).exists() else Path(name)
