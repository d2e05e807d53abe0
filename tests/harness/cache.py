"""What suites fetch is kept outside of the clone: PAWL_TEST_CACHE, by default ~/.cache/pawl-tests."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PARSER = "pyyaml==6.0.3"


def directory(name):
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return pathlib.Path(os.environ.get("PAWL_TEST_CACHE") or caches / "pawl-tests") / name


def with_yaml():
    """Puts a parser of YAML on the path, from wherever pip is told to fetch."""
    place = directory(f"parser-{PARSER}")
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: suites that run side by side use the same.
        fresh = tempfile.mkdtemp(prefix="parser-", dir=place.parent)
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--root-user-action=ignore", "--no-deps", "--target", fresh, PARSER]
        if subprocess.run(command).returncode:
            shutil.rmtree(fresh)
            sys.exit("a parser of YAML could not be fetched")
        try:
            os.rename(fresh, place)
        except OSError:
            shutil.rmtree(fresh)
    sys.path.insert(0, str(place))
