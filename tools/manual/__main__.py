"""Builds the manual into build/manual: `python -m tools.manual`; exit code 1 for a broken link.

This replaces `mkdocs build --quiet`, which does not count warnings, so its strict mode never fails.
"""

from __future__ import annotations

import logging
import os

from mkdocs.commands.build import build
from mkdocs.config import load_config

from tools.manual.site import ROOT

if __name__ == "__main__":
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # This hides the theme's note about its successor.
    logging.basicConfig(format="%(message)s")
    build(load_config(str(ROOT / "mkdocs.yml")))
