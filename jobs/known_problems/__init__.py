"""Known problems found in a lake: schemas/known_problems, evaluated.

A problem's symptom is one SELECT, which Spark, the embedded engine and DuckDB run.  A run first
asks which of the needed evidence exists at all (`search`), because most problems need an event
that no group of a night has.  It then plans the symptoms of the other problems only, and what
contradicts them.  A row of a symptom becomes a finding if the versions in the evidence allow it
(`versions`, `judgement`); `judgement` has the only rule for confidence and ``version_seen``.

- `search`:     evidence as SQL; the problems whose symptom has rows
- `versions`:   which versions of brokers and client libraries the evidence shows
- `judgement`:  is a problem possible with these versions, and how sure is it
- `rows`:       rows of the table findings
"""
