"""Build the wheels regroup and regroup-embedded, and a zip for spark-submit --py-files.

    python -m tools.package FOLDER [--pure]

`make package` calls it.  With a C compiler, the wheels have the modules of [tool.regroup] in
pyproject.toml compiled, beside their sources, and install on this platform and version of Python
only.  Without one, and with --pure, they install everywhere.  The zip is always pure.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tools.embedded_wheel import as_embedded

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "wheels"
# Fixed time and permissions, so that equal sources give an equal wheel.
FILE_TIME = "315532800"  # 1980, the first year of zip files
UMASK = 0o022


class Layout(StrEnum):
    """Where a wheel has the packages; see setup.py."""

    REGROUP = "regroup"
    FOLDERS = "folders"


def can_compile() -> bool:
    """Returns whether there are a C compiler, Python's headers and mypyc."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return (
        shutil.which(compiler.split()[0]) is not None
        and Path(sysconfig.get_path("include"), "Python.h").exists()
        and importlib.util.find_spec("mypyc") is not None
    )


def build_wheel(folder: Path, *, compiled: bool, layout: Layout = Layout.REGROUP) -> Path:
    """Replaces the wheel `regroup` of the folder by one of the present sources."""
    for outdated in folder.glob("regroup-*.whl"):
        outdated.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    # The compiler takes minutes, so equal sources are built only once.
    with tempfile.TemporaryDirectory(prefix="regroup-build-") as work:
        source = Path(work, "source")
        _copy_sources(source)
        kept = CACHE / f"{'compiled' if compiled else 'pure'}-{layout}" / _contents_hash(source)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with open(kept.parent / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.is_dir():
                _build(source, Path(work, "wheel"), compiled, layout)
                for outdated in kept.parent.glob("*/"):
                    shutil.rmtree(outdated)
                shutil.move(Path(work, "wheel"), kept)
            [wheel] = kept.glob("regroup-*.whl")
            return Path(shutil.copy(wheel, folder))


def _copy_sources(target: Path) -> None:
    """Copy what the build reads: a build writes into its folder, which must not be the checkout."""
    setup = runpy.run_path(str(ROOT / "setup.py"))
    for name in (*setup["PACKAGES"], *setup["PACKAGED"]):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
    for name in ("LICENSE", "README.md", "pyproject.toml", "regroup.py", "setup.py"):
        shutil.copy(ROOT / name, target)


def _contents_hash(source: Path) -> str:
    """The hash of all file names and bytes, and of the other input of the compiler."""
    level = os.environ.get("REGROUP_OPT_LEVEL", "")
    digest = hashlib.sha256(f"{sys.version} {level}".encode())
    for file in sorted(filter(Path.is_file, source.rglob("*"))):
        contents = file.read_bytes()
        digest.update(f"{file.relative_to(source)} {len(contents)} ".encode() + contents)
    return digest.hexdigest()


def _build(source: Path, folder: Path, compiled: bool, layout: Layout) -> None:
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder)]
    environment = {
        **os.environ,
        "REGROUP_COMPILE": "1" if compiled else "0",
        "REGROUP_LAYOUT": layout,
        "SOURCE_DATE_EPOCH": FILE_TIME,
    }
    subprocess.run([*pip, str(source)], check=True, env=environment, umask=UMASK)


def build_spark_zip(target: Path) -> Path:
    """A wheel is a zip with the packages at its top; --py-files accepts it under the name *.zip.

    Compiled modules cannot be imported from a zip.
    """
    with tempfile.TemporaryDirectory(prefix="regroup-wheel-") as folder:
        wheel = build_wheel(Path(folder), compiled=False, layout=Layout.FOLDERS)
        return Path(shutil.copy(wheel, target))


def main(
    folder: Path,
    pure: Annotated[bool, typer.Option("--pure", help="Without compiled modules.")] = False,
) -> None:
    for outdated in folder.glob("regroup*.whl"):
        outdated.unlink()
    compiled = not pure and can_compile()
    _say("the wheels, with compiled modules: about a minute" if compiled else "the wheels")
    wheel = build_wheel(folder, compiled=compiled)
    embedded = as_embedded(wheel)
    _say("the zip for spark-submit")
    built = (wheel, embedded, build_spark_zip(folder / "regroup.zip"))
    for file in built:
        print(f"{file}  {file.stat().st_size / 1e6:.1f} MB")


def _say(what: str) -> None:
    print(f"package: building {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    typer.run(main)
