# SPDX-License-Identifier: Apache-2.0
"""Harvesting a source: what is new is fetched, verified, and put into the store of the source.

Nothing of a source is believed before everything of it fits: a source that is refused leaves what
was harvested of it before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from kgbench.errors import ImportRefused, KgbenchError, SignatureError
from kgbench.harvest import sources
from kgbench.harvest.fetching import Limits, Source
from kgbench.harvest.sources import Harvested
from kgbench.harvest.verifying import Offer, offer
from kgbench.importers.rdf import contents as data_sets
from kgbench.importers.rdf import loading
from kgbench.importers.rdf.parsing import RdfFile, scratch_folder, stage
from kgbench.importers.rdf.sources import Origin, sha256, unpack
from kgbench.publish.checks.signatures import digest
from kgbench.store import open_store
from kgbench.store.iris import slug

_RUN = "data/run-"


class Outcome(NamedTuple):
    """What came of a source: its state, or why it was refused; what was fetched of it."""

    address: str
    name: str
    found: Harvested | None
    refused: str | None = None
    before: int | None = None
    fetched: int = 0

    @property
    def words(self) -> str:
        """The outcome as one line."""
        if self.found is None:
            kept = "" if self.before is None else f" (version {self.before} is kept)"
            return f"refused  {self.address}: {self.refused}{kept}"
        version = f"version {self.found.version}"
        if self.before is None:
            return f"new      {self.name}: {version}, {self.fetched} parts"
        if self.fetched:
            return f"updated  {self.name}: version {self.before} to {version}, {self.fetched} parts"
        return f"there    {self.name}: {version}"


def harvest(
    addresses: Collection[str],
    folder: Path,
    keys: Collection[str] = (),
    *,
    most: int,
    seconds: float,
    unsigned: bool = False,
) -> Iterator[Outcome]:
    """Harvest publications into ``folder``, one after the other; one that is refused stops none.

    ``keys`` (Multikeys) are trusted; each source must be signed by one of them or one that follows
    it. Without ``keys`` sources are verified by their own keys, or those known from before.
    ``most`` bytes are fetched of a source, within ``seconds``. Raises
    :class:`~kgbench.errors.ImportRefused` where an address is none.
    """
    named = [Source.named(address) for address in addresses]
    for source in named:
        place = folder / _name(source)
        known = sources.read(place)
        before = None if known is None else known.version
        try:
            with scratch_folder() as scratch:
                found, fetched = _harvested(
                    source,
                    place,
                    known,
                    keys=keys,
                    scratch=scratch,
                    limits=Limits(most, seconds),
                    unsigned=unsigned,
                )
            yield Outcome(source.address, place.name, found, None, before, fetched)
        except KgbenchError as error:
            yield Outcome(source.address, place.name, None, str(error), before)


def _harvested(
    source: Source,
    place: Path,
    known: Harvested | None,
    *,
    keys: Collection[str],
    scratch: Path,
    limits: Limits,
    unsigned: bool,
) -> tuple[Harvested, int]:
    """What was harvested, and how many parts were fetched."""
    if known is not None and not (place / "store").is_dir():
        known = replace(known, parts={})  # all of it is fetched again
    offered = offer(source, keys, known, scratch, limits, unsigned=unsigned)
    _refuse_taken(place, offered)
    parts = {} if known is None else known.parts
    wanted = [name for name, told in offered.parts.items() if parts.get(name) != told]
    # What was imported is only added to: a run that was changed or has gone needs a new store.
    runs = {name: told for name, told in parts.items() if name.startswith(_RUN)}
    anew = any(offered.parts.get(name) != told for name, told in runs.items())
    if anew or not (place / "store").is_dir():
        wanted, anew = list(offered.parts), True
    if wanted:
        files = [_fetched(source, name, offered, scratch, limits) for name in wanted]
        _store(source, place, [one for many in files for one in many], scratch, anew=anew)
    found = Harvested(
        name=place.name,
        address=source.address,
        base=offered.base,
        version=offered.version,
        harvested=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        sums=offered.sums,
        signer=offered.signer,
        vouched=bool(keys) or (known is not None and known.vouched),
        keys=tuple(offered.history.entries.values()),
        parts=offered.parts,
    )
    place.mkdir(parents=True, exist_ok=True)
    sources.write(place, found)
    return found, len(wanted)


def _fetched(
    source: Source, name: str, offered: Offer, scratch: Path, limits: Limits
) -> list[RdfFile]:
    """One part, compared with its checksum and its canonical digest."""
    if name.endswith(".zip"):
        raise ImportRefused(f"{name} is encrypted: import it by kgbench import rdf --password")
    for inner in ("fetched", "unpacked"):
        (scratch / inner).mkdir(exist_ok=True)
    path = scratch / "fetched" / name.rpartition("/")[2]
    if not source.get(name, path, limits):
        raise ImportRefused(f"{name} is listed, and not there")
    if sha256(path) != offered.parts[name]:
        raise SignatureError(f"the checksum of {name} is another one: it was changed since")
    files = unpack(path, name, scratch / "unpacked")
    for one in files:
        if offered.signer is not None and digest(one.path, None) != offered.canonical[name]:
            raise SignatureError(f"the data in {name} are not those that were signed")
    return files


def _store(source: Source, place: Path, files: list[RdfFile], scratch: Path, *, anew: bool) -> None:
    """Import verified files into the store of the source, into a new one where ``anew``."""
    origins = [Origin(f"{source.address} {one.name}", sha256(one.path)) for one in files]
    contents = data_sets.read(stage(files, scratch))
    place.mkdir(parents=True, exist_ok=True)
    target = place / ("store.new" if anew else "store")
    if anew:
        shutil.rmtree(target, ignore_errors=True)
    with open_store(str(target)) as opened:
        loading.load(opened, contents, origins, scratch)
    if anew:
        with _aside(place / "store"):
            target.rename(place / "store")


@contextmanager
def _aside(path: Path) -> Iterator[None]:
    """Put a folder aside, which is removed in the end; it returns where something fails."""
    old = path.with_name("store.old")
    shutil.rmtree(old, ignore_errors=True)
    there = path.is_dir()
    if there:
        path.rename(old)
    try:
        yield
    except OSError:
        if there:
            old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refuse_taken(place: Path, offered: Offer) -> None:
    """Refuse a source that claims the base of another one."""
    for path in place.parent.glob("*"):
        other = sources.read(path) if path != place and path.is_dir() else None
        if other is not None and other.base == offered.base:
            raise ImportRefused(
                f"it claims the base {offered.base}, as {other.name} does, which was harvested "
                f"before: remove {path}{os.sep} where this one is right"
            )


def _name(source: Source) -> str:
    """The name of a source: its host and path, or the name of its folder."""
    if "://" not in source.address:
        return slug(Path(source.address).name or "folder")
    parts = urlsplit(source.address)
    return slug(f"{parts.netloc}{parts.path}".rstrip("/").replace("/", "-").replace(":", "-"))
