"""The command `regroup`: commands and options.

Every command and option is defined once, with typer.  The function of a command imports
the module that does the work, so that help, `--version` and `sql` start without importing Spark.

The same definition serves spark-submit: the script of a job, such as jobs/churn.py, calls
``cli.main("churn")``, which is `regroup churn` with the arguments of the script.  Options, help,
exit codes and error messages are therefore equal.  Exit codes: 0 done, 1 the answer is no or the
run failed, 2 wrong argument or configuration, 130 Ctrl-C.  An error is one line on stderr.

Settings that belong to an installation rather than to one run (Spark's, Kafka's security, the time
zone of logs, thresholds of alerts), and defaults of options, are in a TOML file
(`jobs.configuration`).

cli                all commands together, and main, which prints errors and sets exit codes
filling_commands   nightly, watch, ingest, single jobs, topic-partitions, snapshot
lake_commands      sql, register, check, maintain
model_commands     decode, assign, simulate, replay, what-if, what-if-sweep,
                   plan, gate
setup_commands     init, demo, jars, doctor
result_commands    alerts, digest, dashboard, report, spans
scenario_commands  `regroup scenario run` and `regroup scenario diagram`
configured         values of options from the environment and the configuration file
options            options of several commands
sections           sections of `regroup --help`
examples           an example per command, shown below its help
init_config        writes a configuration file with every setting
"""
