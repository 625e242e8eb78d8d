"""JSON that may stand in a script element: nothing in it opens or closes an element."""

from __future__ import annotations

import json
from typing import Any


def as_json(data: Any) -> str:
    """ASCII: what sets the direction of text, and lone surrogates, are escaped, too."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
