"""The project's packages as one zip, what spark-submit takes by --py-files: `make package`."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("jobs", "coordinator_core", "schemas")


def packaged(target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for package in PACKAGES:
            for file in sorted((ROOT / package).rglob("*")):
                if file.suffix in (".py", ".json", ".sql"):
                    archive.write(file, file.relative_to(ROOT))
    return target


if __name__ == "__main__":
    print(packaged(Path(sys.argv[1])))
