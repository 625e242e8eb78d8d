"""PySpark jobs over what brokers leave behind, and the command line `regroup`."""
