"""Files that the wheel contains beside its code: default configurations and the demo's incidents.

In a checkout these files are in conf/ and examples/ at the root; setup.py copies them into the
wheel, below jobs/packaged/.
"""

from __future__ import annotations

from pathlib import Path

_JOBS = Path(__file__).resolve().parents[1]
CHECKOUT: Path | None = _JOBS.parent if (_JOBS.parent / "pyproject.toml").is_file() else None
_FILES = CHECKOUT or _JOBS / "packaged"

CONF = _FILES / "conf"
EXAMPLES = _FILES / "examples"


def configuration_file(name: str | None) -> Path:
    """The file of ``--conf``, conf/local.toml by default; conf/large.toml also names the packaged
    one if the current folder has no such file."""
    if name is None:
        return CONF / "local.toml"
    packaged = CONF.parent / name
    return packaged if packaged.is_file() and not Path(name).exists() else Path(name)
