"""`regroup dashboard`: a dashboard for Grafana and alerting rules for Prometheus.

Both are derived from the definitions of the exported metrics (jobs.alerts.metrics) and of the
checks (jobs.alerts.checks), so they use the names that `--prometheus` writes.

panels     what the dashboard shows: queries, units, thresholds
dashboard  the panels as Grafana's JSON
rules      the rules as Prometheus' YAML
command    write the files
"""
