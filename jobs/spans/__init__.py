"""Rebalances as OpenTelemetry spans: one trace per rebalance, sent to a collector.

rebalances   what the spans hold, from the tables of a lake
export       the spans, sent by the exporter of OpenTelemetry's SDK (extra `otel`)
command      `regroup spans`
"""
