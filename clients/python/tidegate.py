"""Starts the real server for a suite, or points the suite at one that already runs."""

import contextlib
import os
import pathlib
import queue
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

START_TIMEOUT_S = 30
STOP_TIMEOUT_S = 30

REGION = "us-east-1"
# A 12-digit access key is the account.
ACCOUNT = "123456789012"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": ACCOUNT,
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}

_ENDPOINT_LINE = re.compile(r"endpoint\s+(http://\S+)")
_DEFAULT_BINARY = pathlib.Path(__file__).resolve().parents[2] / "target/release/tidegate"


@contextlib.contextmanager
def endpoint(env=None):
    """Yields the base URL of a server. One that this function started must stop cleanly."""
    running = os.environ.get("TIDEGATE_ENDPOINT")
    if running:
        yield running.rstrip("/")
        return
    with tempfile.TemporaryDirectory(prefix="tidegate-suite-") as data_dir:
        with server(data_dir, env) as url:
            yield url


def client_env(url):
    """The environment in which a child process finds the server and nothing else."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    return {**inherited, **CREDENTIALS, "AWS_ENDPOINT_URL_SQS": url}


@contextlib.contextmanager
def server(data_dir, env=None, end=signal.SIGTERM):
    """Yields the base URL of a server over `data_dir`; one after the other may use the same folder.

    The server is ended by the signal `end`: by SIGTERM it must stop cleanly, SIGKILL is a crash.
    """
    binary = os.environ.get("TIDEGATE_BIN", str(_DEFAULT_BINARY))
    process = subprocess.Popen(
        [binary, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data-dir", data_dir],
        env={**_without_settings(os.environ), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = _announced_endpoint(process)
        _wait_until_healthy(url, process)
        yield url
        process.send_signal(end)
        code = process.wait(STOP_TIMEOUT_S)
        expected = 0 if end == signal.SIGTERM else -end
        assert code == expected, f"the server ended with exit code {code} after {end.name}"
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _without_settings(env):
    """The server takes settings from TIDEGATE_* variables and refuses those it does not know."""
    return {name: value for name, value in env.items() if not name.startswith("TIDEGATE_")}


def _announced_endpoint(process):
    lines = queue.Queue()

    def drain():
        # Reads to the end, so that a full pipe never blocks the server.
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=drain, daemon=True).start()
    seen = []
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            line = None
        if line is None:
            raise RuntimeError(f"the server announced no endpoint; it printed: {''.join(seen)!r}")
        seen.append(line)
        if match := _ENDPOINT_LINE.search(line):
            return match.group(1).rstrip("/")


def _wait_until_healthy(url, process):
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the server ended with exit code {process.returncode} while starting"
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            with urllib.request.urlopen(f"{url}/health", timeout=2) as response:
                if response.status == 200:
                    return
        time.sleep(0.05)
    raise RuntimeError(f"{url}/health did not answer 200 within {START_TIMEOUT_S} s")
