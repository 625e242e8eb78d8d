"""Exports of `__consumer_offsets`: Parquet, Delta, JSON Lines, Avro, or printed by Kafka's tools.

dump             the files of an export, and their rows
columns          the columns of an export, found by their names
row_files        JSON Lines and Avro, row by row
tool_output      what kafka-dump-log and the console consumer's formatters print
printed_records  keys and values that are printed as JSON or text, as bytes
tables           Parquet and Delta, in columns
"""
