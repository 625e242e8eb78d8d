"""Output of commands: rows, progress, errors, and the end on Ctrl-C.

Answers go to stdout, everything else to stderr: a script can parse `--format json` while a person
follows the progress.  An error is one line, ``regroup: ...``, that says what to change; the exit
code is 0 (done), 1 (the answer is no, or the run failed), 2 (wrong argument or configuration) or
130 (Ctrl-C).

Names of groups, clients and topics come from any client of a cluster.  Names may contain control
characters, which could clear a terminal or reorder its text, so all output passes `printable`,
which escapes them.

A table is as wide as its content in a file or a pipe, and folded to the width of a terminal.
Progress is one line per finished step in a log; a terminal also shows the running steps, with
their time.

A first Ctrl-C cancels the engine's jobs before Python can go on; a second one ends the process at
once (``interrupt``).

errors           UsageError, RunFailed, and how they are printed
engine_messages  keeps messages of the embedded engine's native code away from stderr
interrupt        Ctrl-C and SIGTERM, with and without an engine
output_files     checks that output files can be written
similar_names    the name that a user meant
secrets          hides values of secret settings
printing         rows as a table, JSON or CSV; escapes
table            layout of a table
running_steps    running steps on a terminal
spinner          one running command on a terminal
"""
