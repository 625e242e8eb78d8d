"""A server on a free port of this process, and requests to it."""

import http.client
import json
import socket
import threading
from contextlib import contextmanager
from urllib.parse import urlencode

import uvicorn

from jobs.report.serve.answers import Answers
from jobs.report.serve.app import application
from jobs.report.serve.live import LiveLake
from jobs.report.serve.slow_clients import ImpatientProtocol
from jobs.report.serve.statements import DEFAULT_LIMITS


class Served:
    """``lake``: the lake that the server shows."""

    def __init__(self, lake, port):
        self.lake, self.port = lake, port

    def get(self, path, method="GET", **headers):
        """Status, headers and text of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def ask(self, name, **parameters):
        """The JSON answer of a view."""
        status, _, text = self.get(f"/api/{name}?{urlencode(parameters, doseq=True)}")
        assert status == 200, text
        return json.loads(text)

    def refused(self, name, **parameters):
        """The message of a refused request."""
        status, _, text = self.get(f"/api/{name}?{urlencode(parameters, doseq=True)}")
        assert status == 400, text
        return json.loads(text)["error"]


@contextmanager
def served(root, token=None, limits=DEFAULT_LIMITS):
    lake = LiveLake(root)
    listening = socket.create_server(("127.0.0.1", 0))
    app = application(Answers(lake, limits=limits), every_s=60, token=token)
    config = uvicorn.Config(app, http=ImpatientProtocol, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield Served(lake, listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()


def objects(table):
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
