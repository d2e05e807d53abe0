"""What the suites of Python clients share: one line per check, in the order of their definition; exit 1 when any failed."""
import sys
import threading
import time
import traceback

from kubernetes import watch
from kubernetes.client.exceptions import ApiException

CHECKS = []


def check(function):
    """Checks run in the order of their definition."""
    CHECKS.append(function)
    return function


def refused(status, reason, call):
    try:
        call()
    except ApiException as error:
        assert error.status == status, f"{error.status} instead of {status}: {error.body}"
        body = error.body.decode() if isinstance(error.body, bytes) else error.body
        assert f'"reason":"{reason}"' in body.replace(" ", ""), body
        return error
    raise AssertionError(f"not refused with {status}")


def until(what, holds, within=15):
    """What `holds` gives once it gives something true; ApiException is a no."""
    end = time.monotonic() + within
    said = None
    while time.monotonic() < end:
        try:
            said = holds()
            if said:
                return said
        except ApiException as error:
            said = error
        time.sleep(0.05)
    raise AssertionError(f"not within {within} s: {what} ({said})")


def gone(read):
    """Waits until reading gives 404."""

    def absent():
        try:
            read()
        except ApiException as error:
            return error.status == 404
        return False

    until("it is gone", absent)


class Events:
    """Follows a list in a thread; `upto(n)` gives the first n events."""

    def __init__(self, function, *arguments, **options):
        self.watch, self.seen, self.failure = watch.Watch(), [], None
        self.thread = threading.Thread(target=self.follow, args=(function, arguments, options), daemon=True)
        self.thread.start()

    def follow(self, function, arguments, options):
        try:
            for event in self.watch.stream(function, *arguments, timeout_seconds=20, **options):
                self.seen.append(event)
        except Exception as error:
            self.failure = error

    def upto(self, count, within=10):
        end = time.monotonic() + within
        while len(self.seen) < count and self.failure is None and time.monotonic() < end:
            time.sleep(0.02)
        # Stopping cuts the connection under the thread: what it raises then is no failure.
        failure = self.failure
        self.watch.stop()
        assert failure is None, failure
        assert len(self.seen) >= count, f"{len(self.seen)} events instead of {count}: {self.seen}"
        return self.seen[:count]


def run(topic, *arguments):
    passed = failed = 0
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        try:
            function(*arguments)
            passed += 1
            print(f"ok   {topic}: {name}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAIL {topic}: {name}", flush=True)
            line = traceback.extract_tb(error.__traceback__)[-1]
            said = getattr(error, "body", None) or error
            print(f"       | {type(error).__name__} at {line.filename}:{line.lineno}: {said}"[:1500], flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
