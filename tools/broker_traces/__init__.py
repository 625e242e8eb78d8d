"""Plays scenarios of classic groups on a real broker of any version since 0.11, and compares.

    make -C tools broker-traces VERSIONS=2.3.1 SCENARIOS=FOLDER

A broker (on loopback, with ZooKeeper before 3.3) plays all scenarios at once in real time, each
with a group of its own.  Answers, records and log lines are written as traces, and compared with
the engine in the era of the version.

broker     starts the broker
player     sends the requests of one scenario at their times
recording  plays all scenarios, and writes their traces
__main__   the command: records, compares, and counts the differences by kind
"""
