"""JSON for a script element: without characters that could open or close an element."""

from __future__ import annotations

import json
from typing import Any


def as_json(data: Any) -> str:
    """JSON in ASCII, so that text directions and lone surrogates are escaped, too."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
