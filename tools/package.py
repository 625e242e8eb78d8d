"""Build the wheel, and a zip for spark-submit --py-files: `make package`.

    python -m tools.package FOLDER [--pure]

With a C compiler, the wheel has the modules of [tool.regroup] in pyproject.toml compiled, beside
their sources, and installs on this platform and version of Python only.  Without one, and with
--pure, it installs everywhere.  The zip is always pure.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parent.parent
# Outside the tree: setuptools' list of files would keep those that were removed or renamed.
SETUP_CFG = """
[egg_info]
egg_base = {folder}
"""
SDIST = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


def can_compile() -> bool:
    """Whether there are a C compiler, Python's headers and mypyc."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return (
        shutil.which(compiler.split()[0]) is not None
        and Path(sysconfig.get_path("include"), "Python.h").exists()
        and importlib.util.find_spec("mypyc") is not None
    )


def build_wheel(folder: Path, *, compiled: bool) -> Path:
    """Replaces the wheels of the folder by a new one."""
    for outdated in folder.glob("regroup-*.whl"):
        outdated.unlink()
    with tempfile.TemporaryDirectory(prefix="regroup-build-") as work:
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
        pip = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder)]
        environment = {**os.environ, "REGROUP_COMPILE": "1" if compiled else "0"}
        subprocess.run([*pip, _source_archive(Path(work))], check=True, env=environment)
    [wheel] = folder.glob("regroup-*.whl")
    return wheel


def _source_archive(folder: Path) -> str:
    configuration = folder / "setup.cfg"
    configuration.write_text(SETUP_CFG.format(folder=folder), encoding="utf-8")
    environment = {**os.environ, "DIST_EXTRA_CONFIG": str(configuration)}
    command = [sys.executable, "-c", SDIST, str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    [archive] = folder.glob("regroup-*.tar.gz")
    return str(archive)


def build_spark_zip(target: Path) -> Path:
    """A wheel is a zip with the packages at its top; --py-files accepts it under the name *.zip.

    Compiled modules cannot be imported from a zip.
    """
    with tempfile.TemporaryDirectory(prefix="regroup-wheel-") as folder:
        return Path(shutil.copy(build_wheel(Path(folder), compiled=False), target))


def main(
    folder: Path,
    pure: Annotated[bool, typer.Option("--pure", help="Without compiled modules.")] = False,
) -> None:
    print(build_wheel(folder, compiled=not pure and can_compile()))
    print(build_spark_zip(folder / "regroup.zip"))


if __name__ == "__main__":
    typer.run(main)
