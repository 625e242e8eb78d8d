"""Settings of an installation: a TOML file and environment variables, and the files of the wheel.

One file has lakes, clusters and their sources, and the settings of Spark, of Kafka's consumers, of
logs and of alerts.  A setting that no run uses is an error, too.  Values may be secrets, so no
message prints them.  `jobs.command_line.configured` gives options the values of the file.

config          reads the file into `Config`
keys            every key with its default, meaning and environment variable
references      values that a file names: ${env:NAME}, ${file:PATH}
alert_settings  [alerts]: thresholds, values for groups by pattern
webhooks        [alerts.webhooks.NAME]: who gets which alerts
packaged_files  default configurations and the incidents of `regroup demo`
"""
