"""Processes that start beside the embedded engine."""

import subprocess
import sys

FORKS = """
import signal, subprocess
from jobs.engine.embedded import embedded_session
print(embedded_session().range(10).count())
ends = set()
for _ in range(150):  # one in twelve used to die before its program began
    child = subprocess.Popen(["true"], preexec_fn=lambda: signal.getsignal(signal.SIGINT))
    ends.add(child.wait(60))
print(ends)
"""


def test_programs_start_beside_an_open_session():
    ran = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["10", "{0}"]
