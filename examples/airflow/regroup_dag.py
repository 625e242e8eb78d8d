"""Regroup under Airflow 3 with its standard provider: nightly, then check and alerts.

Airflow variables say what to run; the environment variable AIRFLOW_VAR_REGROUP_LAKE sets
regroup_lake, and so on.  Exit code 1 of nightly is tried again, after Airflow's
default_task_retry_delay; exit code 2 (a wrong argument or configuration) is not.  The task alerts
fails if there are alerts, and check if the lake has violations: their logs list them.
"""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException


def variable(name, default):
    """A template: it is read when a task runs, not whenever Airflow parses this file."""
    return f"{{{{ var.value.get('regroup_{name}', {default!r}) }}}}"


REGROUP = variable("command", "/opt/regroup/.venv/bin/regroup")
LAKE = variable("lake", "/data/lake")
CLUSTER = variable("cluster_id", "prod")
SOURCES = variable(
    "sources",
    "--kafka broker-1:9092 --broker-log '/data/logs/*/server.log*' --log-timezone Europe/Berlin",
)
ALERTS = variable("alerts", "--since 24h")  # for notifications: --since 24h --notify
OPTIONS = variable("options", "--conf /etc/regroup.toml")


class RegroupOperator(BashOperator):
    """A command of Regroup; its exit code 2 fails the task without another try."""

    def __init__(self, **options):
        super().__init__(skip_on_exit_code=2, **options)

    def execute(self, context):
        try:
            return super().execute(context)
        except AirflowSkipException:
            raise AirflowFailException("wrong argument or configuration: see above") from None


with DAG(
    dag_id="regroup",
    schedule="30 0 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,  # A run reads all new input, also the input of missed nights.
    max_active_runs=1,
):
    nightly = RegroupOperator(
        task_id="nightly",
        retries=2,
        bash_command=f"{REGROUP} nightly --lake {LAKE} --cluster-id {CLUSTER} {SOURCES} {OPTIONS}",
    )
    check = RegroupOperator(
        task_id="check",
        retries=0,
        bash_command=f"{REGROUP} check --lake {LAKE}",
    )
    alerts = RegroupOperator(
        task_id="alerts",
        retries=0,
        bash_command=f"{REGROUP} alerts --lake {LAKE} --cluster-id {CLUSTER} {ALERTS} {OPTIONS}",
    )
    nightly >> [check, alerts]
