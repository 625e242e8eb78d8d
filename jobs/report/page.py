"""The page: one HTML file that contains its data, styles and scripts.

Group ids, client ids and reasons are texts of any client.  The page has these texts once, as JSON
with escaped `<`, so that no text can end the script element; the scripts show them as text only.
The content security policy names each script by its hash, and forbids other scripts and the
network.  If there are data files, these scripts may load them (strict-dynamic), but markup may not.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jobs.report.charts import FAMILIES, library, specs
from jobs.report.json_text import as_json

SCRIPTS = (
    "format", "server", "data", "kinds", "family", "theme", "address", "overview", "findings",
    "budgets", "episodes", "groups", "advice", "outcomes", "charts", "scale", "bars", "drawing",
    "marks", "timeline", "gestures", "details", "periods", "what_if", "sql", "lists", "compare",
    "plan", "views", "live", "paper", "main",
)  # fmt: skip


def page(data: dict[str, Any]) -> str:
    """The HTML file; equal data gives an equal file."""
    return _page(data, loads=bool(data.get("elsewhere")))[0]


def served_page(every_s: float) -> tuple[str, str]:
    """A page without data, which asks its server for the data, and its content security policy.

    ``every_s`` says how often it asks for the lake's version.
    """
    html, policy = _page({"served": {"every_s": every_s}}, connects=True)
    # Browsers ignore these directives in a meta element.
    return html, f"{policy}; frame-ancestors 'none'"


def _page(data: dict[str, Any], *, loads: bool = False, connects: bool = False) -> tuple[str, str]:
    style = _static("page.css")
    own_scripts = "\n".join(_static(f"{name}.js") for name in SCRIPTS)
    scripts = [library(), f'(async function () {{\n"use strict";\n{own_scripts}\n}})();\n']
    policy = _policy(style, scripts, loads=loads, connects=connects)
    parts = {
        "POLICY": policy,
        "STYLE": style,
        "DATA": as_json(data | {"families": FAMILIES, "specs": specs()}),
        "LIBRARY": scripts[0],
        "SCRIPT": scripts[1],
    }
    before, *rest = _static("page.html").split("{{")
    pieces = [before]
    for piece in rest:
        name, after = piece.split("}}", 1)
        pieces += [parts[name], after]
    return "".join(pieces), policy


def _static(name: str) -> str:
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")


def _policy(style: str, scripts: list[str], *, loads: bool, connects: bool) -> str:
    hashes = " ".join([*map(_hash, scripts), *(["'strict-dynamic'"] if loads else [])])
    connect = " connect-src 'self';" if connects else ""
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data:;"
        f"{connect} base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
