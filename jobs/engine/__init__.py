"""The engines that run the jobs: Spark, and the embedded engine, which needs no JVM.

The jobs are DataFrame functions, and a session is the only thing that they need from an engine.
`choice` says which engine a command uses, `session` opens its session.  A process uses one engine
at a time, because PySpark's functions build columns of one engine.  docs/engines.md compares both.

Spark's settings come from three places; a later one has priority: conf/*.toml (size of the machine,
credentials), the settings that the jobs need (Delta's extension and catalog, UTC, Arrow), and the
command line of spark-submit.  Delta and the Kafka connector are jars that Spark's pip package
lacks: `regroup jars` fetches exactly the listed jars, unless the configuration names others.

session  builds the session, here only
jars     the listed jars, and how they are fetched

`jobs.lake.tables` has the engine's operations on tables.
"""
