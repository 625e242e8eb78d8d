"""Logs of brokers (server.log) -> events of group coordinators."""
