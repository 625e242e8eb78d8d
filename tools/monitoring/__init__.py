"""Tries `regroup dashboard` with a real Prometheus and with the schema of Grafana's dashboards."""
