"""Layouts of records and tables, as data.  No Spark, no third-party imports."""
