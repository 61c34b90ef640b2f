"""A headless Chromium, asked through its debugging pipe: opens a page, measures it, takes its picture."""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """Returns the path of a Chromium or Chrome, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


class Chromium:
    """One tab of a running browser.

    Attributes:
        events: What the browser reported by itself: console messages, errors, requests.
    """

    def __init__(self, ask: int, hear: int) -> None:
        self._ask, self._hear, self._left = ask, hear, b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._ask, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer.get("result", {})
                return result

    def open(self, path: Path, *, width: int, dark: bool = False, media: str = "screen") -> None:
        """Opens a local page as a window of that width shows it."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def picture(self, path: Path, clip: tuple[float, float, float, float] | None = None) -> None:
        """Writes a PNG of the whole page, or of the part (left, top, width, height)."""
        left, top, width, height = clip or (
            0,
            0,
            *self.evaluate("[innerWidth, document.documentElement.scrollHeight]"),
        )
        shot = self.call(
            "Page.captureScreenshot",
            captureBeyondViewport=True,
            clip={"x": left, "y": top, "width": width, "height": height, "scale": 1},
        )
        path.write_bytes(base64.b64decode(shot["data"]))

    def _next(self, patience: float = 60.0) -> dict[str, Any]:
        end = time.monotonic() + patience
        while b"\0" not in self._left:
            if not select.select([self._hear], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            heard = os.read(self._hear, 1 << 20)
            if not heard:
                raise RuntimeError("the browser went away")
            self._left += heard
        line, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message


@contextlib.contextmanager
def chromium(program: str) -> Iterator[Chromium]:
    """Runs a browser with a profile of its own and ends it with the block."""
    with contextlib.ExitStack() as stack:
        profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        its_in, ask = os.pipe()
        hear, its_out = os.pipe()
        # The browser reads from 3 and writes to 4; the ends must not be these numbers already.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (its_in, its_out)]
        null = os.open(os.devnull, os.O_RDWR)
        process = os.posix_spawn(
            program,
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null, 1),
                (os.POSIX_SPAWN_DUP2, null, 2),
                (os.POSIX_SPAWN_DUP2, high[0], 3),
                (os.POSIX_SPAWN_DUP2, high[1], 4),
            ],
            setsid=True,
        )
        for end in (its_in, its_out, null, *high):
            os.close(end)
        try:
            yield Chromium(ask, hear)
        finally:
            os.close(ask)
            os.close(hear)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)


def main() -> None:
    """Takes a page's picture: ``python headless_chromium.py page.html picture.png --width 1280``."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, help="of the picture; by default the whole page")
    parser.add_argument("--top", type=int, default=0)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--media", default="screen")
    given = parser.parse_args()
    program = find_chromium()
    if program is None:
        raise SystemExit("no chromium found")
    with chromium(program) as browser:
        browser.open(given.page, width=given.width, dark=given.dark, media=given.media)
        clip = (0, given.top, given.width, given.height) if given.height else None
        browser.picture(given.picture, clip)


if __name__ == "__main__":
    main()
