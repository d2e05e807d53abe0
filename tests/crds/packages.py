"""The definitions and manifests that others published: fetched once, checked, and kept outside of the clone.

`sources` says what is fetched, a module of Go a line: where most projects of this field publish. Where from is for Go to know (`go env
GOPROXY`); nothing is written here of it.
"""
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import cache

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "sources"
# What is picked of a package; another way of picking is another cache.
PICKING = "3"
FILES = (".yaml", ".yml", ".json")
TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{")
BOUNDARY = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
# Manifests of one kind and version that are taken of one package, and those of one package in all.
PER_KIND, PER_PACKAGE = 5, 40
# Larger definitions, in bytes, only cost time.
LARGEST = 700_000

Source = collections.namedtuple("Source", "project package version checksum definitions")
# A document as it was written, and what it says.
Document = collections.namedtuple("Document", "project digest text value")


def sources():
    found = []
    for line in SOURCES.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            project, package, definitions = (part.strip() for part in line.split("|"))
            found.append(Source(project, *package.split(), definitions.split()))
    return found


def load():
    """The definitions, each name once, and the manifests of their kinds, in an order that does not change."""
    kept = prepare()
    definitions, samples = {}, {}
    for source in sources():
        picked = json.loads(place(kept, source).read_text())
        for text, value in picked["definitions"]:
            definitions.setdefault(value["metadata"]["name"], Document(source.project, digest(text), text, value))
        for text, value in picked["samples"]:
            samples.setdefault(digest(text), Document(source.project, digest(text), text, value))
    return list(definitions.values()), choose(samples.values(), list(definitions.values()))


def choose(samples, definitions):
    """Some manifests of every kind: those whose hashes come first."""
    kinds = {(f"{d.value['spec']['group']}/{version['name']}", d.value["spec"]["names"]["kind"])
             for d in definitions for version in d.value["spec"]["versions"]}
    taken, chosen = collections.Counter(), []
    for sample in sorted(samples, key=lambda sample: (sample.project, sample.digest)):
        if (sample.value["apiVersion"], sample.value["kind"]) in kinds and taken[sample.project] < PER_PACKAGE:
            taken[sample.project] += 1
            chosen.append(sample)
    return chosen


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:10]


# ---------------------------------------------------------------- fetching
def prepare():
    """The directory with what was picked of every package; filled once."""
    root = cache.directory(f"crds-{PICKING}")
    root.mkdir(parents=True, exist_ok=True)
    absent = [source for source in sources() if not place(root, source).exists()]
    if absent:
        cache.with_yaml()
        print(f"fetching {len(absent)} packages", file=sys.stderr)
        with concurrent.futures.ThreadPoolExecutor(4) as several:
            for source, picked in zip(absent, several.map(fetch, absent)):
                kept = place(root, source)
                kept.with_suffix(".new").write_text(json.dumps(picked))
                kept.with_suffix(".new").rename(kept)
    return root


def place(root, source):
    """Another version, or another place in it, is another file."""
    return root / f"{source.project}-{digest(' '.join([source.package, source.version, source.checksum, *source.definitions]))}.json"


def fetch(source):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="pawl-crds."))
    try:
        return pick(source, download(source, directory))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def download(source, directory):
    """The files of a module. Of a module for a newer Go the tool gives the archive and its checksum all the same."""
    environment = dict(os.environ, GOMODCACHE=str(directory / "modules"), GOFLAGS="-mod=mod -modcacherw", GOTOOLCHAIN="local")
    command = ["go", "mod", "download", "-json", f"{source.package}@{source.version}"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=environment)
    try:
        told = json.loads(ran.stdout)
    except ValueError:
        told = {"Error": ran.stderr}
    if told.get("Sum") != source.checksum or not told.get("Zip"):
        why = told.get("Error") or f"its checksum is {told.get('Sum')}"
        sys.exit(f"{source.package} {source.version} could not be fetched: {why}")
    with zipfile.ZipFile(told["Zip"]) as archive:
        beginning = len(f"{source.package}@{source.version}/")
        for name in sorted(archive.namelist()):
            if name.endswith(FILES):
                yield name[beginning:], archive.read(name)


# ---------------------------------------------------------------- picking
def pick(source, files):
    """Definitions from where `sources` says, and of every other custom kind of the package some objects."""
    definitions, samples = [], {}
    for name, data in files:
        listed = any(fnmatch.fnmatchcase(name, pattern) for pattern in source.definitions)
        for text, value in documents(name, data):
            kind = value.get("apiVersion"), value.get("kind")
            if kind == DEFINITION:
                if listed and whole(value) and len(text) <= LARGEST:
                    definitions.append((text, value))
            elif all(isinstance(word, str) for word in kind) and "." in kind[0].split("/")[0]:
                samples.setdefault(kind, {})[digest(text)] = text, value
    if not definitions:
        sys.exit(f"{source.package} has no definitions where they should be")
    some = [found[key] for found in samples.values() for key in sorted(found)[:PER_KIND]]
    return {"definitions": definitions, "samples": some}


def whole(value):
    """Not a patch of a definition."""
    spec = value.get("spec")
    return isinstance(spec, dict) and isinstance(spec.get("versions"), list) and "names" in spec and "group" in spec


def documents(name, data):
    import yaml

    if b"apiVersion" not in data or len(data) > 8_000_000:
        return
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    for part in [text] if name.endswith(".json") else BOUNDARY.split(text):
        # A definition may speak of templates in its descriptions; a template of a definition does not parse, or is no definition.
        if "apiVersion" not in part or (TEMPLATE.search(part) and "CustomResourceDefinition" not in part):
            continue
        try:
            value = yaml.load(part, loader(yaml))
            json.dumps(value, allow_nan=False)
        except (yaml.YAMLError, ValueError, TypeError):
            continue
        if isinstance(value, dict):
            yield part.strip() + "\n", value


def loader(yaml):
    """YAML without dates, as JSON has none."""
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    without = type("Loader", (base,), {})
    without.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    return without
