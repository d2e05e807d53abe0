"""The load generator, built from its source beside the repository."""
import os
import pathlib
import shutil
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent


def apiload():
    """A built generator: PAWL_APILOAD_BIN, or from PAWL_APILOAD (default ../shared/tools/apiload) into PAWL_TEST_CACHE."""
    built = os.environ.get("PAWL_APILOAD_BIN")
    if built:
        return pathlib.Path(built)
    source = pathlib.Path(os.environ.get("PAWL_APILOAD") or REPOSITORY.parent / "shared" / "tools" / "apiload")
    if not (source / "Cargo.toml").is_file():
        sys.exit(f"no load generator at {source}: set PAWL_APILOAD")
    cache = pathlib.Path(
        os.environ.get("PAWL_TEST_CACHE")
        or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "pawl-tests")
    # Built from a copy: the source may be read-only.
    copy = cache / "apiload"
    if copy.exists():
        shutil.rmtree(copy)
    shutil.copytree(source, copy, copy_function=shutil.copyfile)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    target = cache / "apiload-target"
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--manifest-path", copy / "Cargo.toml", "--target-dir", target], check=True)
    return target / "release" / "apiload"
