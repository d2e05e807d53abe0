"""A Pawl server for one run of a suite in Python: on a free port, its data in a directory of its own, stopped at the end.

Its users are those of the recorded upstream server: one of system:masters, and two of no group.
"""
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TOKENS = 'admin-token,admin,admin-uid,"system:masters"\nalice-token,alice,\nbob-token,bob,\n'


def binary():
    """The server that is to be tested: PAWL_BIN, or the release build."""
    path = pathlib.Path(os.environ.get("PAWL_BIN") or REPOSITORY / "target" / "release" / "pawl")
    if not os.access(path, os.X_OK):
        sys.exit(f"no server at {path}: build it (cargo build --release) or set PAWL_BIN")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, binary, directory, flags, environment=None):
        port = free_port()
        self.environment = environment
        self.url = f"https://127.0.0.1:{port}"
        self.log = directory / "server.log"
        tokens = directory / "tokens.csv"
        tokens.write_text(TOKENS)
        self.command = [
            binary, "serve", "--data-dir", directory / "data", "--secure-port", str(port),
            "--disable-admission-plugins=ServiceAccount", "--token-auth-file", tokens, *flags,
        ]

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment)
        trust = ssl._create_unverified_context()
        request = urllib.request.Request(self.url + "/readyz", headers={"Authorization": "Bearer admin-token"})
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError("the server ended: " + self.log.read_text(errors="replace")[-800:])
            try:
                with urllib.request.urlopen(request, context=trust, timeout=5):
                    return self
            except OSError:
                time.sleep(0.02)
        self.__exit__()
        raise RuntimeError("the server was not ready within 30 s")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
