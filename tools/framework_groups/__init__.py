"""Captures what real Kafka Connect workers and Kafka Streams applications leave behind.

``python -m tools.framework_groups --out FOLDER`` starts a broker, workers and applications on
loopback, adds, changes and kills them, and keeps the broker's log and segments beside what the
workers' REST interface and the applications say.
"""
