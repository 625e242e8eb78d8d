"""What an object store answered to a request that failed, in one line with a remedy."""

from __future__ import annotations

import re

from jobs.console.errors import UsageError

_ANSWER = re.compile(r"<Code>(\w+)</Code>\s*<Message>([^<]*)</Message>")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
# Without keys, clients of S3 ask the address at which machines of AWS get theirs.
_KEYS_OF_MACHINE = "169.254.169.254"
_S3_SETTINGS = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"


def unreadable(root: str, what: str, error: Exception) -> UsageError:
    """The error for ``what`` of a lake that could not be read: "it", or "table churn"."""
    remedy = ""
    if "://" in root:
        settings = _S3_SETTINGS if root.startswith("s3") else "the store's settings"
        remedy = f"; check the URI and {settings} in the environment"
    return UsageError(f"--lake {root}: {what} cannot be read: {_reason(str(error))}{remedy}")


def _reason(text: str) -> str:
    if answer := _ANSWER.search(text):
        return f"{answer[1]}, {answer[2].rstrip('.')}"
    if _KEYS_OF_MACHINE in text:
        return "no keys for the store"
    first, *causes = _COLOR.sub("", text).splitlines()
    causes = [cause.strip(" ↳") for cause in causes]
    return causes[-1] if causes and causes[-1] else first
