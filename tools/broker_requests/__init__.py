"""Asks real brokers the requests of scenarios, and keeps what they answered.

    make -C tools broker-requests    # fetches the brokers, asks both
    python -m tools.broker_requests --kafka 4.4.0 --out FILE.jsonl.gz examples/modern-groups

A broker (KRaft, on loopback) plays each scenario in real time: its topics are created, its groups
configured, its requests sent at their times over one connection per participant.  The answers are
those of Kafka's own brokers, so the engine must give the same.

messages    requests and responses: the engine's values <-> bodies with Kafka's field names
client      sends bodies to a broker through a small Java program that uses Kafka's classes
player      plays one scenario with a broker
comparison  the answers of brokers beside the engine's
__main__    the command: plays scenarios, writes what was answered
"""
