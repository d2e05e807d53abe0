"""A Pawl server for one run of a suite in Python: on a free port, its data in a directory of its own, stopped at the end.

Its users are those of the recorded upstream server: one of system:masters, and two of no group. With PAWL_STORE=etcd its store is
an etcd of its own (PAWL_ETCD, default etcd), started before it and stopped after it.
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

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


class Etcd:
    """One member, alone, that keeps nothing."""

    def __init__(self, directory):
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.url = client
        self.log = directory / "etcd.log"
        self.command = [
            os.environ.get("PAWL_ETCD", "etcd"), "--name", "test", f"--data-dir={directory / 'etcd'}", "--log-level=error",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=test={peer}", "--unsafe-no-fsync=true",
            "--heartbeat-interval=20", "--election-timeout=100",
        ]

    def start(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Server:
    def __init__(self, binary, directory, flags, environment=None):
        self.environment = environment
        self.kubeconfig = directory / "kubeconfig"
        self.log = directory / "server.log"
        tokens = directory / "tokens.csv"
        tokens.write_text(TOKENS)
        self.directory = directory
        self.etcd = Etcd(directory) if os.environ.get("PAWL_STORE") == "etcd" else None
        # With etcd the directory is where the server is started.
        store = ["--etcd-servers", self.etcd.url] if self.etcd else ["--data-dir", directory / "data"]
        self.command = [
            binary, "serve", *store, "--secure-port=0", f"--write-kubeconfig={self.kubeconfig}",
            "--disable-admission-plugins=ServiceAccount", "--token-auth-file", tokens, *flags,
        ]

    def __enter__(self):
        if self.etcd:
            self.etcd.start()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment, cwd=self.directory)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError("the server ended: " + self.log.read_text(errors="replace")[-800:])
            # It is there, and whole, when the server is ready.
            if self.kubeconfig.exists():
                self.url = re.search(r"server: (\S+)", self.kubeconfig.read_text())[1]
                return self
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
        if self.etcd:
            self.etcd.stop()
