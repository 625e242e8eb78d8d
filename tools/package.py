"""Build the wheel, and a copy as regroup.zip for spark-submit --py-files: `make package`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Outside the tree: setuptools' build folder would keep modules that were removed or renamed.
SETUP_CFG = """
[build]
build_base = {folder}/build
[egg_info]
egg_base = {folder}
"""


def build_wheel(folder: Path) -> Path:
    for outdated in folder.glob("regroup-*.whl"):
        outdated.unlink()
    with tempfile.TemporaryDirectory(prefix="regroup-build-") as work:
        configuration = Path(work, "setup.cfg")
        configuration.write_text(SETUP_CFG.format(folder=work), encoding="utf-8")
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
        pip = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder)]
        environment = {**os.environ, "DIST_EXTRA_CONFIG": str(configuration)}
        subprocess.run([*pip, str(ROOT)], check=True, env=environment)
    [wheel] = folder.glob("regroup-*.whl")
    return wheel


def build_spark_zip(target: Path) -> Path:
    """A wheel is a zip with the packages at its top; --py-files accepts it under the name *.zip."""
    with tempfile.TemporaryDirectory(prefix="regroup-wheel-") as folder:
        return Path(shutil.copy(build_wheel(Path(folder)), target))


if __name__ == "__main__":
    wheel = build_wheel(Path(sys.argv[1]))
    print(wheel, shutil.copy(wheel, wheel.with_name("regroup.zip")), sep="\n")
