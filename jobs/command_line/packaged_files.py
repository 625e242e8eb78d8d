"""Files that the wheel carries beside its code: default configurations and the demo's incidents.

In a checkout they are conf/ and examples/ at the root; setup.py copies them into the wheel, below
jobs/packaged/.
"""

from __future__ import annotations

from pathlib import Path

_JOBS = Path(__file__).resolve().parents[1]
CHECKOUT: Path | None = _JOBS.parent if (_JOBS.parent / "pyproject.toml").is_file() else None
_FILES = CHECKOUT or _JOBS / "packaged"

CONF = _FILES / "conf"
EXAMPLES = _FILES / "examples"
