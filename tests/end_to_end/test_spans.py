"""`regroup spans`: what a collector receives from the incident on 4.1."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from jobs.console.errors import RunFailed, UsageError
from jobs.spans.command import SpansOptions, send_spans

SECOND = 1_000_000_000

# Both engines write equal lakes, and reading a lake needs neither engine.
pytestmark = pytest.mark.parametrize("engine", ["embedded"], indirect=True, scope="module")


class Collector:
    """An OTLP/HTTP receiver on loopback that answers every request with ``status``."""

    def __init__(self, status=200):
        self.paths, self.spans = [], []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.paths.append(self.path)
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        collector.spans += scope.spans
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def sent(demo, group="billing-eager", **options):
    with Collector() as collector:
        send_spans(
            SpansOptions(demo.root, "kafka-4.1", group, endpoint=collector.address, **options)
        )
    assert set(collector.paths) == {"/v1/traces"}
    return collector.spans


def attributes(span):
    return {each.key: each.value for each in span.attributes}


def test_a_rebalance_is_one_trace_with_its_phases(demo):
    spans = sent(demo)

    [root] = [
        each
        for each in spans
        if each.name == "rebalance" and attributes(each)["regroup.generation"].int_value == 6
    ]
    phases = [each for each in spans if each.parent_span_id == root.span_id]
    assert [each.name for each in phases] == ["PreparingRebalance", "CompletingRebalance"]
    assert {each.trace_id for each in phases} == {root.trace_id}
    lengths_ms = [(each.end_time_unix_nano - each.start_time_unix_nano) // 10**6 for each in phases]
    assert lengths_ms == [
        attributes(root)["regroup.join_ms"].int_value,
        attributes(root)["regroup.sync_ms"].int_value,
    ]
    assert attributes(root)["messaging.consumer.group.name"].string_value == "billing-eager"
    assert attributes(root)["regroup.story"].string_value == "restart"
    assert [each.name for each in root.events] == ["LEAVE"]


def test_what_a_rebalance_cost_the_data(demo):
    costs = {}
    for each in sent(demo):
        values = attributes(each)
        if each.name == "rebalance":
            costs[values["regroup.generation"].int_value] = {
                name.removeprefix("regroup."): value.int_value
                for name, value in values.items()
                if name.endswith(("records_reprocessed", "consumption_pause_ms"))
            }

    assert costs[1] == {}  # Nobody owned a partition before this time.
    assert costs[6] == {"records_reprocessed": 0, "consumption_pause_ms": 22_580}
    assert costs[13]["records_reprocessed"] == 17  # a session expired


def test_every_rebalance_is_sent_once_and_with_the_same_ids_again(demo):
    first, second = sent(demo), sent(demo)

    [(count,)] = demo.rows(
        "SELECT COUNT(*) FROM rebalances"
        " WHERE cluster_id = 'kafka-4.1' AND group_id = 'billing-eager'"
    )
    roots = [each.trace_id for each in first if each.name == "rebalance"]
    assert len(roots) == len(set(roots)) == count
    assert {each.span_id for each in first} == {each.span_id for each in second}


def test_only_rebalances_that_ended_in_the_window(demo):
    spans = sent(demo, first="00:48", last="00:49")

    ends = {each.end_time_unix_nano // SECOND % 3600 // 60 for each in spans}
    assert ends == {48}


def test_a_collector_that_refuses_fails_the_run_with_its_answer(demo):
    with Collector(status=400) as collector, pytest.raises(RunFailed, match=r"400.*; 0 were sent"):
        send_spans(SpansOptions(demo.root, "kafka-4.1", endpoint=collector.address))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({}, "give --endpoint http://HOST:4318", id="no endpoint"),
        pytest.param({"endpoint": "collector:4318"}, "not an address", id="no URL"),
        pytest.param({"group_id": "none"}, "no rebalance of group none", id="no such group"),
    ],
)
def test_wrong_arguments(demo, monkeypatch, options, message):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)

    with pytest.raises(UsageError, match=message):
        send_spans(SpansOptions(demo.root, "kafka-4.1", **options))
