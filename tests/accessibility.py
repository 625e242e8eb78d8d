"""axe-core, which finds faults of accessibility in an opened page."""

import json
from importlib.resources import files

_AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
_WIDTHS = (1440, 390)
_OF_COLORS = {"runOnly": ["color-contrast", "link-in-text-block"]}


def faults_of(tab, schemes=("light", "dark")):
    """The faults of a page with its folded parts open, wide and narrow: one line per element.

    ``schemes``: the colors to check; the other rules do not depend on colors, so that dark colors
    have only the rules about colors.
    """
    tab.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    tab.run(f"{_AXE};0")
    return [
        f"{width} {scheme} {line}"
        for scheme in schemes
        for width in _WIDTHS
        for line in _faults(tab, width, scheme)
    ]


def _faults(tab, width, scheme):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    tab.ask("Emulation.setDeviceMetricsOverride", **size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    tab.ask("Emulation.setEmulatedMedia", features=features)
    tab.run("new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))")
    options = {"resultTypes": ["violations"]} | (_OF_COLORS if scheme == "dark" else {})
    return tab.run(
        f"""axe.run(document, {json.dumps(options)}).then(({{ violations }}) =>
        violations.flatMap(({{ id, nodes }}) => nodes.map((node) =>
          `${{id}}: ${{node.target}}: ${{node.failureSummary.replaceAll("\\n", " ")}}`)))"""
    )
