# SPDX-License-Identifier: Apache-2.0
"""Harvesting of sources: what has changed is downloaded, verified, and imported into a new store.

Nothing is imported before all of it is verified. A source that is refused keeps its results from
the last harvest.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pyoxigraph as ox

from kgbench.api import ImportRefused, KgbenchError
from kgbench.errors import SignatureError
from kgbench.importers.rdf import contents as data_sets
from kgbench.importers.rdf import loading
from kgbench.importers.rdf.parsing import RdfFile, scratch_folder, stage
from kgbench.importers.rdf.sources import Origin, sha256, unpack
from kgbench.net.limits import Budget
from kgbench.plugins.harvest import sources
from kgbench.plugins.harvest.sources import HarvestedSource
from kgbench.plugins.harvest.verification import Source, VerifiedOffer, verified_offer
from kgbench.signing.key_list import KeyEntry, KeyList
from kgbench.signing.proofs import digest
from kgbench.store import open_store
from kgbench.store.iris import slug


class HarvestResult(NamedTuple):
    """The result of harvesting one source.

    ``found`` is its new state, or ``refused`` the reason for refusing it. ``before`` is the version
    from the last harvest, ``fetched`` the number of downloaded parts, and ``withdrawn`` has the ids
    of runs that the source no longer has.
    """

    address: str
    name: str
    found: HarvestedSource | None
    refused: str | None = None
    before: int | None = None
    fetched: int = 0
    withdrawn: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The outcome as one line of text."""
        if self.found is None:
            note = "" if self.before is None else f" (version {self.before} is kept)"
            return f"refused  {self.address}: {self.refused}{note}"
        version = f"version {self.found.version}"
        notes = "" if self.found.vouched else f"; {self.found.trust}"
        if self.withdrawn:
            notes += f"; withdrawn: {', '.join(self.withdrawn)}"
        if self.before is None:
            return f"new      {self.name}: {version}, {self.fetched} parts{notes}"
        if self.fetched:
            change = f"version {self.before} to {version}, {self.fetched} parts"
            return f"updated  {self.name}: {change}{notes}"
        return f"there    {self.name}: {version}{notes}"


def harvest(
    addresses: Collection[str],
    folder: Path,
    keys: Collection[str] = (),
    revoked: Collection[KeyEntry] = (),
    *,
    max_bytes: int,
    seconds: float,
    unsigned: bool = False,
) -> Iterator[HarvestResult]:
    """Harvest publications into ``folder`` one by one; a refused source does not stop the others.

    ``keys`` (Multikeys) are trusted; each source must be signed by one of them. Without ``keys``
    sources are verified by their own keys, or by the signer of the last harvest. A key vouches for
    nothing if it is among ``revoked``, or if a harvested source that the user trusts, or the source
    itself, lists it as revoked. At most ``max_bytes`` are read (packed and unpacked) within
    ``seconds``; each source may use an equal share of what those before it left. Raises
    :class:`~kgbench.errors.ImportRefused` if an address is not usable.
    """
    all_sources = [Source.named(address) for address in addresses]
    ends = time.monotonic() + seconds
    for number, source in enumerate(all_sources):
        share = len(all_sources) - number
        budget = Budget(max_bytes // share, max(0.0, ends - time.monotonic()) / share)
        max_bytes -= budget.bytes
        folder_of_source = folder / _name(source)
        known = sources.read(folder_of_source)
        before = None if known is None else known.version
        try:
            with scratch_folder() as scratch:
                state, fetched = _harvest_source(
                    source,
                    folder_of_source,
                    known,
                    keys=keys,
                    revoked=[*revoked, *_revoked(folder_of_source)],
                    scratch=scratch,
                    budget=budget,
                    unsigned=unsigned,
                )
            yield HarvestResult(
                source.address,
                folder_of_source.name,
                state,
                before=before,
                fetched=fetched,
                withdrawn=() if known is None else tuple(sorted(known.runs - state.runs)),
            )
        except KgbenchError as error:
            yield HarvestResult(source.address, folder_of_source.name, None, str(error), before)
        max_bytes += max(0, budget.bytes)


def _harvest_source(
    source: Source,
    folder: Path,
    known: HarvestedSource | None,
    *,
    keys: Collection[str],
    revoked: Collection[KeyEntry],
    scratch: Path,
    budget: Budget,
    unsigned: bool,
) -> tuple[HarvestedSource, int]:
    offered = verified_offer(
        source, keys, known, scratch, budget, revoked=revoked, unsigned=unsigned
    )
    _refuse_used_base(folder, offered)
    is_new = known is None or known.parts != offered.parts or not (folder / "store").is_dir()
    if is_new:
        files = {name: _download(source, name, offered, scratch, budget) for name in offered.parts}
        _import(source, folder, offered, files, scratch=scratch, budget=budget)
    revoked = [] if known is None else KeyList(known.keys).revoked  # they stay so
    state = HarvestedSource(
        name=folder.name,
        address=source.address,
        base=offered.base,
        version=offered.version,
        harvested=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        sums=offered.sums,
        signer=offered.signer,
        vouched=bool(keys) or (known is not None and known.vouched),
        keys=tuple((offered.keys.entries | KeyList(revoked).entries).values()),
        parts=offered.parts,
        canonical=offered.canonical,
    )
    folder.mkdir(parents=True, exist_ok=True)
    sources.write(folder, state)
    return state, len(offered.parts) if is_new else 0


def _download(
    source: Source, name: str, offered: VerifiedOffer, scratch: Path, budget: Budget
) -> RdfFile:
    if name.endswith(".zip"):
        raise ImportRefused(f"{name} is encrypted: import it with kgbench import rdf --password")
    for inner in ("fetched", "unpacked"):
        (scratch / inner).mkdir(exist_ok=True)
    path = scratch / "fetched" / name.rpartition("/")[2]
    if not source.get(name, path, budget):
        raise ImportRefused(f"{name} is listed, but missing")
    if sha256(path) != offered.parts[name]:
        raise SignatureError(f"the checksum of {name} does not fit: the file was changed")
    [file] = unpack(path, name, scratch / "unpacked", budget=budget)
    return file


def _import(
    source: Source,
    folder: Path,
    offered: VerifiedOffer,
    files: Mapping[str, RdfFile],
    *,
    scratch: Path,
    budget: Budget,
) -> None:
    """Verify the data, and import them into a new store of the source."""
    staged = stage(list(files.values()), scratch, budget)  # what nests too deeply ends a child
    for name, file in files.items():
        if offered.signer is not None:
            quads = budget.within(ox.parse(path=str(file.path), format=ox.RdfFormat.N_QUADS))
            if digest(quads, scratch) != offered.canonical[name]:
                raise SignatureError(f"the data in {name} differ from the data that were signed")
    origins = [
        Origin(f"{source.address} {file.name}", sha256(file.path)) for file in files.values()
    ]
    contents = data_sets.read(staged)
    folder.mkdir(parents=True, exist_ok=True)
    new, current, old = (folder / name for name in ("store.new", "store", "store.old"))
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    with open_store(str(new)) as opened:
        loading.load(opened, contents, origins, scratch, lambda _: budget.spend(0))
    if current.is_dir():
        current.rename(old)
    try:
        new.rename(current)
    except OSError:
        if old.is_dir():
            old.rename(current)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _revoked(folder: Path) -> Iterator[KeyEntry]:
    """Yield keys that are revoked by the source in ``folder`` or by a trusted one beside it."""
    for path in folder.parent.glob("*"):
        source = sources.read(path) if path.is_dir() else None
        if source is not None and (source.vouched or path == folder):
            yield from KeyList(source.keys).revoked


def _refuse_used_base(folder: Path, offered: VerifiedOffer) -> None:
    for path in folder.parent.glob("*"):
        other = sources.read(path) if path != folder and path.is_dir() else None
        if other is not None and other.base == offered.base:
            raise ImportRefused(
                f"it has the base {offered.base} of {other.name}, which was harvested before: "
                f"remove {path}{os.sep} if the new source is the right one"
            )


def _name(source: Source) -> str:
    """Return the name of a source: its host and path, or the name of its folder."""
    if "://" not in source.address:
        return slug(Path(source.address).name or "folder")
    parts = urlsplit(source.address)
    return slug(f"{parts.netloc}{parts.path}".rstrip("/").replace("/", "-").replace(":", "-"))
