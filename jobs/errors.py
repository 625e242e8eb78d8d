"""What went wrong, as one line that says what to change."""


class UsageError(Exception):
    """A wrong argument, configuration or input path: exit 2, no stack trace."""


class RunFailed(Exception):
    """The arguments were right, the world was not: exit 1, no stack trace."""
