"""A headless Chromium, controlled over its debugging pipe: no driver, no port, no network."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
_ANSWER_S = 60  # limit in seconds: a busy machine is slow, and no test measures time
_KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Tab": 9}


def find_chromium():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    def __init__(self, program):
        self._program = program
        self._last_id = 0
        self.notifications = []
        self._read = b""

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()

        def use_pipes():
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [
                self._program, "--headless", "--no-sandbox", "--disable-gpu",
                "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank",
            ],
            preexec_fn=use_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        return self

    def __exit__(self, *_):
        self.ask("Browser.close")
        try:
            self._process.wait(_ANSWER_S)
        except subprocess.TimeoutExpired:  # It answered, but does not end on a busy machine.
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def ask(self, method, session=None, **params):
        """Return the answer; other messages are appended to ``self.notifications``."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._last_id:
                assert "error" not in message, message["error"]
                return message["result"]
            self.notifications.append(message)

    def _next(self):
        while b"\0" not in self._read:
            piece = os.read(self._from, 1 << 20)
            assert piece, "Chromium has exited"
            self._read += piece
        message, _, self._read = self._read.partition(b"\0")
        return json.loads(message)

    def open(self, path, address="", *, width=1280, height=900, dark=False):
        """Open the file in a new tab, and wait until it is drawn."""
        tab = self.open_address(f"file://{path}{address}", width=width, height=height, dark=dark)
        tab.until("document.querySelectorAll('.chart svg').length === 2")
        return tab

    def open_address(self, address, *, width=1280, height=900, dark=False):
        """Open the address in a new tab."""
        self.notifications = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.ask(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        tab.ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tab.ask("Emulation.setEmulatedMedia", features=[scheme])
        tab.ask("Page.navigate", url=address)
        return tab


class Tab:
    def __init__(self, browser, session):
        self._browser, self._session = browser, session

    def ask(self, method, **params):
        return self._browser.ask(method, self._session, **params)

    def run(self, script):
        """Evaluate an expression in the page."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script):
        """Wait until the expression is true."""
        end = time.monotonic() + _ANSWER_S
        while not self.run(f"!!({script})"):
            assert time.monotonic() < end, f"never: {script}\n{self.errors()}"
            self.run("new Promise(requestAnimationFrame)")

    def errors(self):
        """Console messages, exceptions, and requests to other places."""
        errors = []
        for message in self._browser.notifications:
            # The message belongs to the tab of another test.
            if message.get("sessionId") != self._session:
                continue
            params = message.get("params", {})
            if message.get("method") == "Runtime.exceptionThrown":
                errors.append(params["exceptionDetails"])
            elif message.get("method") == "Runtime.consoleAPICalled":
                errors.append(params["args"])
            elif message.get("method") == "Log.entryAdded":
                errors.append(params["entry"]["text"])
            elif message.get("method") == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:")):
                    errors.append(url)
        return errors

    def box(self, selector):
        """Scroll to the first such element; return its x, y, width and height."""
        return self.run(
            f"""(() => {{ const it = document.querySelector({json.dumps(selector)});
            it.scrollIntoView({{block: "center"}}); const b = it.getBoundingClientRect();
            return [b.x, b.y, b.width, b.height]; }})()"""
        )

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=count)

    def click_on(self, selector):
        x, y, width, height = self.box(selector)
        self.click(x + width / 2, y + height / 2)

    def drag(self, x, y, to_x):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * step / 5, y, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, y, button="left", clickCount=1)

    def touch(self, kind, *places):
        points = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(places)]
        self.ask("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    def key(self, key, shift=False):
        more = {"windowsVirtualKeyCode": _KEYS.get(key, ord(key[0]))}
        if len(key) == 1:
            more["text"] = key
        modifiers = 8 if shift else 0
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)

    def type(self, text):
        self.ask("Input.insertText", text=text)
