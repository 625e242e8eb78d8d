"""Settings of an installation: a TOML file, given by --conf, and the files of the wheel.

One file has the settings of Spark, of Kafka's consumers, of logs and of alerts; a setting that no
run uses is an error, too.  Values may be secrets, so no message prints them.

config          reads the file into `Config`
alert_settings  [alerts]: thresholds, values for groups by pattern
webhooks        [alerts.webhooks.NAME]: who gets which alerts
packaged_files  default configurations and the incidents of `regroup demo`
"""
