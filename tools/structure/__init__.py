"""Counts over the structure of the sources: rooms and their imports, names, long calls.

    .venv/bin/python -m tools.structure [--root DIR] [--list]

`--root` is a checkout, e.g. of an older commit.  No code of the checkout is run or imported: all
counts are made from its syntax trees.  `--list` names each counted item.

sources   the Python files of a checkout
rooms     which file imports which; rooms, their order, circles
branches  lines that compare with a type of group
eras      files that name a version of Kafka's coordinator
names     class names with several meanings; words for groups that are not classic
calls     constructor calls and types with many positional fields
"""
