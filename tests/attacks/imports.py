# SPDX-License-Identifier: Apache-2.0
"""Files for every importer, of which one is damaged or replaced by a hostile one."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kgbench.testing.hostile import FRAGMENTS
from tests.attacks import damage
from tests.attacks.forks import Ran, kgbench
from tests.plugins.challenges.test_answers import RECORD, benchmark, written
from tests.support import inspect_log, text2kg_data, text2sparql_data
from tests.support.archives import dialogue_v3, record_v1, record_v2, record_v3, write_json

MEMORY = 3 << 30  # bytes of address space of an import
_ZEROS = bytes(1 << 30)


class Importer(NamedTuple):
    """A command, the files that it reads, below one folder, and more options."""

    files: Callable[[Path], Path]
    options: tuple[str, ...] = ()


class Found(NamedTuple):
    """The tries of an importer: how many were read or refused in words, and the largest costs."""

    tries: int
    survived: int
    written: int
    seconds: float
    megabytes: int


def _results(folder: Path) -> Path:
    records = [record_v1(), record_v2(), record_v3(), dialogue_v3()]
    return write_json(folder / "results.json", records)


def _log(folder: Path) -> Path:
    content = inspect_log.log("RdfFriendCount-turtle-1", [["nobody"], ["no idea"]])
    return inspect_log.write(folder, content, "deflated")


def _spinach(folder: Path) -> Path:
    return written(folder / "spinach_output_dev.json", [RECORD]).parent


def _dump(folder: Path) -> Path:
    scratch = folder.with_name("dumped")
    if not scratch.exists():
        scratch.mkdir()
        store = damage.made_store(scratch, 2)
        done = kgbench(scratch, "store", "backup", "all.nq.gz", "--store", str(store))
        assert done.status == 0, done.err
    return Path(shutil.copy(scratch / "all.nq.gz", folder))


IMPORTERS = {
    "llm-kg-bench": Importer(_results),
    "inspect": Importer(_log),
    "rdf": Importer(_dump, ("--most", "64", "--seconds", "60")),
    "text2kgbench": Importer(text2kg_data.write),
    "text2sparql": Importer(lambda folder: text2sparql_data.write_challenge(folder / "docs")),
    "spinach": Importer(_spinach),
    "grasp": Importer(lambda folder: benchmark(folder / "set")),
}


def attack(folder: Path, name: str, tries: int, seed: int = 25) -> Found:
    """Import files of one kind as they are, and then this number of times with one of them changed.

    Raises :class:`AssertionError` if the files as they are cannot be imported.
    """
    importer = IMPORTERS[name]
    survived = written_ = 0
    seconds, memory = 0.0, 0
    for number in range(-1, tries):
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        given, store = importer.files(place), folder / "store"
        shutil.rmtree(store, ignore_errors=True)
        if number >= 0:
            _change(place, random.Random(f"{seed}/{name}/{number}"))
        done = _import(folder, name, str(given), *importer.options, "--store", str(store))
        if number < 0:
            assert done.status == 0, done.err
            continue
        refused = done.status == 1 and "kgbench:" in done.err
        if done.fault is None and (done.status == 0 or refused):
            survived += 1
        else:
            sys.stderr.write(f"import {name}, try {number}: {done.status}: {done.err[-2000:]}\n")
        # A file that is refused leaves nothing, not even a new store.
        written_ += done.status != 0 and store.exists()
        seconds, memory = max(seconds, done.seconds), max(memory, done.memory)
    return Found(tries, survived, written_, seconds, memory >> 20)


def _import(folder: Path, *words: str) -> Ran:
    """Import in a fork that takes this process for the one that ends it at Ctrl-C."""
    os.environ["KGBENCH_SUPERVISOR"] = str(os.getpid())
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    try:
        return kgbench(folder, "import", *words)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        del os.environ["KGBENCH_SUPERVISOR"]


def _change(folder: Path, chance: random.Random) -> None:
    """Damage one file below ``folder``, or replace it by a hostile one of the same name."""
    path = chance.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    content = bytearray(path.read_bytes())
    kind = chance.choice(["flip", "cut", "repeat", "insert", "insert", "hostile"])
    packed = path.suffix == ".gz" and kind in ("repeat", "insert")
    if packed:
        content = bytearray(gzip.decompress(content))
    start = chance.randrange(len(content))
    end = start + chance.randrange(1, 400)
    if kind == "flip":
        content[start] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del content[start:end]
    elif kind == "repeat":
        content[start:start] = content[start:end] * chance.choice([1, 100])
    elif kind == "insert":
        fragment = chance.choice(FRAGMENTS).encode("utf-8", "surrogatepass")
        content[start:start] = fragment * chance.choice([1, 1, 100])
    else:
        content = bytearray(chance.choice(HOSTILE)())
    path.write_bytes(gzip.compress(content) if packed else content)


def _zip(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


HOSTILE: tuple[Callable[[], bytes], ...] = (
    lambda: b"",
    lambda: b"[" * 5_000_000,
    lambda: b'{"a":' * 200_000,
    lambda: json.dumps([[0] * 1000] * 1000).encode(),
    lambda: b"\xff\xfe" + bytes(1000),
    lambda: gzip.compress(_ZEROS, 1),
    lambda: _zip(("results.json", _ZEROS)),
    lambda: _zip(*((f"samples/{k}_epoch_1.json", b"{}") for k in range(20_000))),
    lambda: _zip(("../../elsewhere.json", b"[]"), ("/etc/elsewhere.json", b"[]")),
    lambda: b'<!DOCTYPE r [<!ENTITY a "' + b"x" * 10_000 + b'">]><r>' + b"&a;" * 10_000 + b"</r>",
    lambda: b"".join(b"_:b%d <urn:p> _:b%d .\n" % (k, k * 7 % 999) for k in range(999)),
)


if __name__ == "__main__":
    # A process of its own: forks of one that has opened a database would wait for its threads.
    with tempfile.TemporaryDirectory() as scratch:
        sys.stdout.write(json.dumps(attack(Path(scratch), sys.argv[1], int(sys.argv[2]))))
