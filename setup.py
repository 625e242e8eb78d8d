"""Compiles modules, and copies the files of jobs/configuration/packaged_files.py into the wheel;
everything else is in pyproject.toml.
"""

import os
import shutil
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

PACKAGED = ("conf", "examples/mixed-clients-3.9.1", "examples/mixed-clients-4.1.2")


class BuildWithPackagedFiles(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:  # the checkout has the files
            return
        for folder in PACKAGED:
            target = Path(self.build_lib) / "jobs" / "packaged" / folder
            shutil.copytree(folder, target, dirs_exist_ok=True)


def compiled_modules() -> list[Extension]:
    """The extensions of a wheel, if REGROUP_COMPILE=1; a checkout never has compiled modules.

    REGROUP_OPT_LEVEL: the C compiler's; 0 compiles in half of the time.
    """
    if os.environ.get("REGROUP_COMPILE") != "1" or "bdist_wheel" not in sys.argv:
        return []
    from mypyc.build import mypycify

    level = os.environ.get("REGROUP_OPT_LEVEL", "1")
    extensions = mypycify(_paths(), opt_level=level, debug_level="0", group_name="coordinator_core")
    for extension in extensions:
        # Warnings take six sevenths of the time, most of it the one about indentation, which -w
        # does not print but has computed: mypyc indents some lines by a thousand columns.
        extension.extra_compile_args += ["-w", "-Wno-misleading-indentation"]
    return extensions


def _paths() -> list[str]:
    settings = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["regroup"]
    compiled = {str(path) for pattern in settings["compiled"] for path in Path().glob(pattern)}
    return sorted(compiled - set(settings["interpreted"]))


setup(cmdclass={"build_py": BuildWithPackagedFiles}, ext_modules=compiled_modules())
