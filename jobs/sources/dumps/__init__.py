"""Exports of `__consumer_offsets`: Parquet, Delta, JSON Lines or Avro.

dump       the files of an export, and their rows
columns    the columns of an export, found by their names
row_files  JSON Lines and Avro, row by row
tables     Parquet and Delta, in columns
"""
