"""Says what a wheel contains; everything else is in pyproject.toml.

The checkout has the packages jobs, coordinator_core and schemas, and the module regroup.  A wheel
has one package, regroup, which contains the other packages: names such as `jobs` at the top of
site-packages would conflict with other distributions.  So a build copies the sources to
build/layout, and rewrites their imports there.  REGROUP_LAYOUT=folders keeps the packages of the
checkout, for the zip of spark-submit and for tests of compiled modules.
"""

import os
import re
import runpy
import shutil
import sys
import tomllib
from contextlib import chdir
from pathlib import Path

from setuptools import Extension, find_packages, setup

PACKAGES = ("coordinator_core", "jobs", "schemas")
DATA = {
    "jobs": ["report/static/*", "packaged/**/*"],
    "schemas": ["**/*.json", "**/*.sql", "**/*.toml"],
}
# jobs/configuration/packaged_files.py finds these folders in jobs/packaged.
PACKAGED = ("conf", "examples/mixed-clients-3.9.1", "examples/mixed-clients-4.1.2")
LAYOUT = Path("build", "layout")
_NAMES = "|".join(PACKAGES)
_IMPORT = re.compile(rf"^(\s*(?:from|import) )(?=(?:{_NAMES})\b)", re.MULTILINE)
_BINDS_A_PACKAGE = re.compile(rf"^\s*import (?:{_NAMES})\b(?!.* as ).*", re.MULTILINE)


def inside_regroup(source: str) -> str:
    """The source of a module, with the imports that it needs inside the package regroup."""
    if line := _BINDS_A_PACKAGE.search(source):
        raise SystemExit(f"setup.py: cannot rewrite {line[0].strip()!r}: use `from` or `as`")
    return _IMPORT.sub(r"\1regroup.", source)


def lay_out(top: Path) -> None:
    """Copy what the wheel contains; ``top``: the folder of the packages, in LAYOUT."""
    import vl_convert  # Import here, because only a wheel needs the JavaScript.

    shutil.rmtree(LAYOUT, ignore_errors=True)
    for name in PACKAGES:
        shutil.copytree(name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKAGED:
        shutil.copytree(name, top / "jobs" / "packaged" / name)
    (top / "jobs" / "report" / "static" / "vega.js").write_text(
        vl_convert.javascript_bundle(), "utf-8"
    )
    if top != LAYOUT:
        for file in top.rglob("*.py"):
            file.write_text(inside_regroup(file.read_text("utf-8")), "utf-8")


def compiled_modules(top: Path) -> list[Extension]:
    """The extensions of a wheel, if REGROUP_COMPILE=1; a checkout never has compiled modules.

    REGROUP_OPT_LEVEL: the C compiler's; 0 compiles in half of the time.
    """
    if os.environ.get("REGROUP_COMPILE") != "1":
        return []
    from mypyc.build import mypycify

    level = os.environ.get("REGROUP_OPT_LEVEL", "1")
    target = str(Path("build", "mypyc").resolve())
    # If regroup's own module were in the list, mypy would read all jobs and their dependencies.
    if top != LAYOUT:
        (top / "__init__.py").touch()
    with chdir(LAYOUT):
        extensions = mypycify(
            _paths(top.relative_to(LAYOUT)),
            opt_level=level,
            debug_level="0",
            group_name="regroup",
            target_dir=target,
        )
    for extension in extensions:
        # Warnings take six sevenths of the time, mostly the warning about indentation, which is
        # computed even with -w, because mypyc indents some lines by a thousand columns.
        extension.extra_compile_args += ["-w", "-Wno-misleading-indentation"]
    return extensions


def _paths(top: Path) -> list[str]:
    """The modules to compile, relative to LAYOUT."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["regroup"]
    compiled = {path for pattern in settings["compiled"] for path in ROOT.glob(pattern)}
    compiled -= {ROOT / name for name in settings["interpreted"]}
    return sorted(str(top / path.relative_to(ROOT)) for path in compiled)


def wheel() -> dict[str, object]:
    """The arguments of `setup` for a wheel, whose files this lays out."""
    in_folders = os.environ.get("REGROUP_LAYOUT") == "folders"
    top = LAYOUT if in_folders else LAYOUT / "regroup"
    lay_out(top)
    extensions = compiled_modules(top)
    own = "regroup.py" if in_folders else "__init__.py"
    source = Path("regroup.py").read_text("utf-8")
    (top / own).write_text(source if in_folders else inside_regroup(source), "utf-8")
    if in_folders:
        return FOLDERS | {"package_dir": {"": str(LAYOUT)}, "ext_modules": extensions}
    return {
        "packages": ["regroup", *(f"regroup.{name}" for name in find_packages(str(top)))],
        "package_dir": {"": str(LAYOUT)},
        "package_data": {f"regroup.{name}": patterns for name, patterns in DATA.items()},
        "ext_modules": extensions,
    }


ROOT = Path(__file__).resolve().parent
FOLDERS: dict[str, object] = {
    "packages": find_packages(include=[f"{name}*" for name in PACKAGES]),
    "py_modules": ["regroup"],
    "package_data": DATA,
}
if __name__ == "__main__":
    setup(
        version=runpy.run_path("jobs/__init__.py")["__version__"],
        **(wheel() if "bdist_wheel" in sys.argv else FOLDERS),
    )
