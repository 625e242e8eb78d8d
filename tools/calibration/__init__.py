"""How often are the statements of `episodes` true, by their confidence?

    python -m tools.calibration --lake DIR CLUSTER=timeline.jsonl ...

A captured incident has the script that was played: what was done to which process, and when.  An
episode states that something of its kind happened to its processes.  The statement is true if the
script did so at that time.

script      the actions of a timeline
statements  which actions make an episode of each kind true
__main__    the table of confidences, and the statements that are false
"""
