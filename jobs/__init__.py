"""PySpark jobs over what brokers leave behind, and the command line `regroup`."""

__version__ = "0.1.0"
