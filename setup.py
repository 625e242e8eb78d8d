"""Copies the files of jobs/command_line/packaged_files.py into the wheel; all else is in
pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
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


setup(cmdclass={"build_py": BuildWithPackagedFiles})
