"""An S3 server on loopback for tests and checks: S3Proxy, whose jar is fetched and verified.

Its conditional puts are atomic (`python -m tools.object_store` asks it): of several puts of a new
key at once with If-None-Match, exactly one succeeds.  Delta's commits rely on this.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.kafka_broker import free_ports, has_started, java_path

ROOT = Path(__file__).resolve().parent.parent
VERSION = "4.1.0"
JAR = f"s3proxy-{VERSION}-jar-with-dependencies.jar"
SHA256 = "a4d025969aaf796616ed4b1e2491d87d455ce84bb28cb9db086b2e6aaa68b48d"
FOLDER = ROOT / ".jars" / "object-store"
BUCKET = "regroup"
KEY, SECRET = "loopback", "only-on-loopback-7f3a"
_TIMEOUT_S = 120
_PUTS_AT_ONCE = 8


def fetch_server() -> Path:
    """The jar, fetched from the Maven registry unless it is there; raises ValueError for another
    file.
    """
    jar = FOLDER / JAR
    if not jar.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        registry = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY", "https://repo1.maven.org/maven2/")
        partial = jar.with_name(f"{JAR}.{os.getpid()}")
        url = f"{registry.rstrip('/')}/org/gaul/s3proxy/{VERSION}/{JAR}"
        with urllib.request.urlopen(url) as source, partial.open("wb") as target:
            shutil.copyfileobj(source, target)
        _verify(partial)
        partial.replace(jar)
    _verify(jar)
    return jar


def _verify(jar: Path) -> None:
    with jar.open("rb") as stream:
        if (digest := hashlib.file_digest(stream, "sha256").hexdigest()) != SHA256:
            raise ValueError(f"{jar} is not the pinned file: its SHA-256 is {digest}")


@contextmanager
def object_store(folder: Path, *, anonymous: bool = False) -> Iterator[dict[str, str]]:
    """The environment of a client of a running server, whose bucket is ``folder``/regroup."""
    (folder / BUCKET).mkdir(parents=True)
    (port,) = free_ports(1)
    settings = folder.with_name(f"{folder.name}.properties")
    settings.write_text(_settings(folder, port, anonymous))
    java = shutil.which("java", path=java_path())
    if java is None:
        raise FileNotFoundError("no Java: install Java 17")
    command = [java, "-Xmx512m", "-XX:TieredStopAtLevel=1", "-jar", str(fetch_server())]
    with settings.with_suffix(".log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--properties", str(settings)],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    try:
        if not has_started(server, port, _TIMEOUT_S):
            log = settings.with_suffix(".log").read_text()
            raise RuntimeError(f"the object store does not start: {log[-2000:]}")
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        server.kill()
        server.wait()


def _settings(folder: Path, port: int, anonymous: bool) -> str:
    signed = f"aws-v4\ns3proxy.identity={KEY}\ns3proxy.credential={SECRET}"
    return (
        f"s3proxy.endpoint=http://127.0.0.1:{port}\n"
        f"s3proxy.authorization={'none' if anonymous else signed}\n"
        "jclouds.provider=filesystem-nio2\njclouds.identity=none\njclouds.credential=none\n"
        f"jclouds.filesystem.basedir={folder}\n"
    )


def puts_that_succeed(port: int, key: str) -> list[int]:
    """The status codes of puts of a new key at once, each if the key does not exist."""

    def put(number: int) -> int:
        connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
        connection.request("PUT", f"/{BUCKET}/{key}", str(number), {"If-None-Match": "*"})
        return connection.getresponse().status

    with ThreadPoolExecutor(_PUTS_AT_ONCE) as pool:
        return sorted(pool.map(put, range(_PUTS_AT_ONCE)))


if __name__ == "__main__":
    with TemporaryDirectory() as folder, object_store(Path(folder, "store"), anonymous=True) as env:
        port = int(env["AWS_ENDPOINT_URL"].rsplit(":", 1)[1])
        answers = [puts_that_succeed(port, f"key-{number}") for number in range(40)]
    won = sum(each == [200] + [412] * (_PUTS_AT_ONCE - 1) for each in answers)
    print(
        f"{won} of {len(answers)} keys were created by exactly one of {_PUTS_AT_ONCE} puts at once"
    )
