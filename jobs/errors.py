"""What a user did wrong, as one line that says what to change."""


class UsageError(Exception):
    """A wrong argument, configuration or input path: exit 2, no stack trace."""
