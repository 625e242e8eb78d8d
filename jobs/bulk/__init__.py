"""Bulk decoding of ``__consumer_offsets`` records: a whole Arrow batch at a time, as columns.

The reference codec (coordinator_core.records) decodes one record into Python objects, which takes
microseconds per field.  A lake has millions of records, so Python workers decode them in bulk:

    layout file -> program of steps -> one compiled walk over all rows -> Arrow buffers

Layout.  The JSON files of the reference codec describe record types and versions here, too.

Program.  ``program`` compiles a layout into an integer table: one row per step (read a number, read
a string, begin an array, ...), and one entry point per version.  Fields become columns, the same
for all versions; a version that lacks a field writes a null.

Walk.  ``kernel`` (numba) runs the program over every row and writes only where each field starts
and how long it is: two int32 per field.  No bytes are copied, and no object is created.

Arrow.  ``arrow_arrays`` copies the bytes of a requested column into Arrow buffers; columns that
no caller requests cost no more than the walk.

The walk reads the same values as the reference codec.  Rows for which this is not certain
(unreadable bytes, unknown types and versions, early-access layouts) are left out, and the
reference codec decodes them one by one, or explains why they are unreadable.

- decoder:            Spark records to rows of a table; bulk first, then row by row
- records:            keys and values of a batch, by record type
- consumer_protocol:  subscriptions and assignments inside group records
- few:                few records, which the reference codec reads sooner than numba is imported
- unreadable:         the unreadable records of a batch, with reasons
- program:            layouts as programs
- byte_rows:          the bytes of a binary column, with start and end per row
- reader:             runs a program; positions as columns
- lists:              lists joined row by row, topic ids as text
- arrow_arrays:       Arrow arrays of fields at many positions
- arrow_buffers:      Arrow arrays of existing buffers, without copies
- kernel, compiled:   the compiled loops, and the decorators that compile them

Importing ``kernel`` imports numba, which takes half a second.  Therefore only ``reader`` and
``arrow_arrays`` import it at their top, and other modules import these two modules inside
functions.
"""
