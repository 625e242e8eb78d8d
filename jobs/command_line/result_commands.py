"""Commands that show or send what a lake has about its groups."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jobs.alerts.formats import DigestFormat
from jobs.command_line.options import (
    ClusterOption,
    ConfOption,
    FormatOption,
    FromTimeOption,
    InputOptions,
    LakeOption,
    NotifyOption,
    OnlyGroupOption,
    PrometheusOption,
    ToTimeOption,
    with_sources,
)
from jobs.console.printing import Document, Format

commands = typer.Typer()


@commands.command()
@with_sources
def investigate(
    inputs: InputOptions,
    lake: Annotated[
        str | None, typer.Option("--lake", help="Lake that nightly filled, instead of input files.")
    ] = None,
    cluster_id: Annotated[
        str | None,
        typer.Option("--cluster-id", help="Cluster of --lake; default: its only cluster."),
    ] = None,
    group: OnlyGroupOption = None,
    format: Annotated[Document, typer.Option(help="Format of the answer.")] = Document.TEXT,
    conf: ConfOption = None,
) -> None:
    """Explain why groups rebalance.  Prints known problems, causes, cost, what to change."""
    from jobs.configuration.config import load_config
    from jobs.investigate.command import InvestigateOptions
    from jobs.investigate.command import investigate as run

    options = InvestigateOptions(
        inputs=vars(inputs), lake=lake, cluster_id=cluster_id, group_id=group
    )
    run(options, load_config(conf), format)


@commands.command()
def alerts(
    lake: LakeOption,
    cluster_id: Annotated[
        str | None, typer.Option("--cluster-id", help="Only this cluster; default: all.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Time span to look back: 90s, 15m, 1h, 7d, or since a UTC time (default: "
            "[alerts] window, 1h)."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="UTC time that counts as now; default: the lake's last time."),
    ] = None,
    prometheus: PrometheusOption = None,
    notify: NotifyOption = False,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """List storms, stuck and flapping groups.  Exit 1 if there are alerts."""
    from jobs.alerts.alerting import AlertsOptions
    from jobs.alerts.command import run
    from jobs.configuration.config import load_config

    options = AlertsOptions(lake, cluster_id, since, at)
    settings = load_config(conf).alerts
    raise typer.Exit(run(options, settings, prometheus, format, notifies=notify))


@commands.command()
def digest(
    lake: LakeOption,
    cluster_id: Annotated[
        str | None, typer.Option("--cluster-id", help="Only this cluster; default: all.")
    ] = None,
    since: Annotated[
        str, typer.Option(help="Time span to look back: 90m, 24h, 7d, or since a UTC time.")
    ] = "24h",
    at: Annotated[
        str | None,
        typer.Option(help="UTC time that counts as now; default: the lake's last time."),
    ] = None,
    format: Annotated[DigestFormat, typer.Option(help="Format of the digest.")] = DigestFormat.TEXT,
    notify: Annotated[
        bool,
        typer.Option(
            "--notify", help="Send the digest to the webhooks with digest = true, not to stdout."
        ),
    ] = False,
    conf: ConfOption = None,
) -> None:
    """Summarise a day for chat or mail.  Similar items are one entry."""
    from jobs.alerts.alerting import AlertsOptions
    from jobs.alerts.digest import run
    from jobs.configuration.config import load_config

    options = AlertsOptions(lake, cluster_id, since, at)
    raise typer.Exit(run(options, load_config(conf).alerts, format, notifies=notify))


@commands.command()
def dashboard(
    out: Annotated[
        str | None, typer.Option(help="File for the dashboard, JSON for Grafana; default: stdout.")
    ] = None,
    rules: Annotated[
        str | None, typer.Option(help="File for Prometheus' alerting rules, YAML for rule_files.")
    ] = None,
    late: Annotated[
        str, typer.Option(help="Age above which the lake's last time is late: 90s, 15m, 2h.")
    ] = "25h",
    conf: ConfOption = None,
) -> None:
    """Write a Grafana dashboard.  The dashboard shows the metrics of alerts and watch."""
    from jobs.alerts.monitoring.command import run
    from jobs.configuration.config import load_config

    run(out, rules, late, load_config(conf).alerts.thresholds)


@commands.command("report")
def report_(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: OnlyGroupOption = None,
    first: FromTimeOption = None,
    last: ToTimeOption = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="File for the page, HTML that opens offline; default: report.html, unless --trace"
            " or --mermaid is given."
        ),
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="File for a trace, JSON for Perfetto or chrome://tracing.")
    ] = None,
    mermaid: Annotated[
        str | None,
        typer.Option(
            metavar="GENERATION", help="Print one rebalance of the group as a Mermaid diagram."
        ),
    ] = None,
    conf: ConfOption = None,
) -> None:
    """Write a page with charts and timelines.  Shows which groups rebalanced, how long, why."""
    from jobs.configuration.config import load_config
    from jobs.report.command import ReportOptions, report

    report(
        ReportOptions(
            lake=lake,
            cluster_id=cluster_id,
            group_id=group,
            first=first,
            last=last,
            out=out or (None if trace or mermaid else "report.html"),
            trace=trace,
            mermaid=mermaid,
            slo=load_config(conf).alerts.slo,
        )
    )


@commands.command()
def serve(
    lake: LakeOption,
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0: a free port.", min=0, max=65535)
    ] = 8787,
    every: Annotated[
        str, typer.Option(help="Time between two checks for new commits: 90s, 15m, 1h.")
    ] = "60s",
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; requires a token unless it is a loopback address."
        ),
    ] = "127.0.0.1",
    token_file: Annotated[
        str | None,
        typer.Option(help="File with the token that users give as password."),
    ] = None,
    certificate: Annotated[
        str | None, typer.Option(help="PEM file with the server's certificates, for TLS.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="PEM file with the private key of the certificate.")
    ] = None,
    conf: ConfOption = None,
) -> None:
    """Serve the page, live and read-only.

    The page is for a lake of any size, and also offers SQL and a JSON API.
    """
    from jobs.configuration.alert_settings import span_s
    from jobs.configuration.config import load_config
    from jobs.report.serve.command import ServeOptions, token_of
    from jobs.report.serve.command import serve as run

    def plan(cluster_id: str, group_id: str) -> dict[str, Any]:
        from jobs.console.printing import jsonable
        from jobs.what_if.plan import PlanOptions, as_json, evaluate

        chosen = PlanOptions(lake=lake, cluster_id=cluster_id, group_id=group_id)
        plans: dict[str, Any] = jsonable(as_json(chosen, evaluate(chosen)))
        return plans

    run(
        ServeOptions(
            lake=lake,
            host=host,
            port=port,
            every_s=span_s(every, "--every"),
            token=token_of(token_file),
            certificate=certificate,
            key=key,
            slo=load_config(conf).alerts.slo,
            plan=plan,
        )
    )


@commands.command()
def spans(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: OnlyGroupOption = None,
    first: FromTimeOption = None,
    last: ToTimeOption = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="OTLP/HTTP address of the collector; default: OTEL_EXPORTER_OTLP_ENDPOINT."
        ),
    ] = None,
) -> None:
    """Send rebalances to an OpenTelemetry collector.  There is one trace per rebalance."""
    from jobs.spans.command import SpansOptions, send_spans

    send_spans(SpansOptions(lake, cluster_id, group, first, last, endpoint))
