"""What a run needs, looked at before one starts: machine, Spark, settings, lake, logs, brokers."""

from jobs.doctor.examination import Request, examine
from jobs.doctor.finding import COLUMNS, Finding, State, show

__all__ = ["COLUMNS", "Finding", "Request", "State", "examine", "show"]
