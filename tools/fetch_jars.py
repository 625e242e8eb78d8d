"""Fetch the jars of a Kafka broker into .jars/broker/ and an S3 server's, for tests and benchmarks.

broker_jars.sha256 lists them.  Scala's library is not listed: the resolver never fetches it, and
the broker uses Spark's.
"""

from __future__ import annotations

from pathlib import Path

from jobs.engine.jars import fetch

TOOLS = Path(__file__).resolve().parent
BROKER_JARS = TOOLS.parent / ".jars" / "broker"


def broker_jars() -> dict[str, str]:
    """Coordinates, and the SHA-256 of each jar."""
    lines = (TOOLS / "broker_jars.sha256").read_text().splitlines()
    return {coordinate: digest for digest, coordinate in map(str.split, lines)}


if __name__ == "__main__":
    # Import here, because that module imports this module.
    from tools.object_store import fetch_server

    fetch(broker_jars(), BROKER_JARS)
    fetch_server()
