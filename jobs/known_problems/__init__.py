"""Known problems found in a lake: schemas/known_problems, evaluated.

A problem's symptom is one SELECT, which Spark, the embedded engine and DuckDB run.  A run first
asks which of the needed evidence exists at all (`search`), because most problems need an event that
no group of a night has.  It then plans only the symptoms of the remaining problems, and the
evidence that contradicts them.  A row of a symptom becomes a finding if the versions in the
evidence allow it (`versions`, `judgement`); `judgement` has the only rule for confidence and
``version_seen``.

- `search`:     evidence as SQL; the problems whose symptom has rows
- `versions`:   which versions of brokers and client libraries the evidence shows
- `judgement`: decides whether a problem is possible with these versions, and with which confidence
- `rows`:       rows of the table findings
"""
