"""`regroup doctor`: check what a run needs before it starts.

A nightly run takes minutes to hours, and most failures have causes that can be checked within
seconds: no Java, jars of another Spark version, a full disk, a log in an unexpected time zone,
brokers that advertise an unreachable address.  Each check returns results (`CheckResult`) with a
state and a remedy: ok, warning (a run works, but maybe not as intended) or failure (a run fails).
The command exits with 1 if there is a failure.  No check changes anything, and none starts Spark.

The time zone needs an estimate, because broker log lines rarely name their zone: the last line of a
log was printed when the file was last written.  If these times differ by a whole number of quarter
hours, the difference is the clock's distance from the configured zone (``broker_logs``).

Brokers are asked with librdkafka, not with Kafka's Java client, which would need a JVM.  [kafka]
has settings for the Java client; `jobs.sources.topic.kafka_settings` translates them.  Settings
that librdkafka has no equivalent for (a JKS truststore, Kerberos) are named in a warning; then only
the port is checked.

all_checks    the options, and the order of the checks
results       the result of a check, and how results are printed
machine       Java, memory, temporary files, time zone
spark         Python packages and Spark's jars
lakes         the lake: write permission, free space, outcome of the last run
log_samples   samples of the newest files of an option, for both kinds of logs
broker_logs   log files: readable, coordinator lines, time zone
client_logs   consumers' logs: readable, lines of membership, clocks
dumps         exports of `__consumer_offsets`: readable
end_offsets   log end offsets: readable, partitions and times
environments  managed services and operators, by the names of their brokers
brokers       brokers: reachable, TLS and SASL, `__consumer_offsets`, advertised addresses
"""

from jobs.doctor.all_checks import DoctorOptions, print_sources, run_checks
from jobs.doctor.results import COLUMNS, CheckResult, Severity, print_results

__all__ = [
    "COLUMNS",
    "CheckResult",
    "DoctorOptions",
    "Severity",
    "print_results",
    "print_sources",
    "run_checks",
]
