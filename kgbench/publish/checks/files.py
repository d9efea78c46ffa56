# SPDX-License-Identifier: Apache-2.0
"""Checks of the files of a published folder: checksums, agreement of dumps."""

from __future__ import annotations

from collections.abc import Iterator

from kgbench.errors import PublicationRefused
from kgbench.publish import file_reading
from kgbench.publish.addresses import RECORDED
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.documents import OWN
from kgbench.publish.folder import checksum as digest_of
from kgbench.publish.signing import SIGNATURE, SUMS

_AGAIN = "Publish again."


def check(published: PublicationFiles) -> Iterator[Fault]:
    """Yield files that differ from their checksums, or have none."""
    if SUMS not in published.files:
        yield Fault("checksum", "", SUMS, "There is no file of checksums.", _AGAIN)
        return
    listed = set()
    for line, match in published.sums():
        if match is None:
            message = f"A line is not a checksum: {line[:100]}"
            yield Fault("checksum", "", SUMS, message, _AGAIN)
            continue
        checksum, name = match.groups()
        listed.add(name)
        if name not in published.files:
            yield Fault("checksum", "", name, f"{SUMS} lists a missing file.", _AGAIN)
        elif digest_of(published.files[name])[0] != checksum:
            message = "The content does not fit its checksum."
            yield Fault("checksum", "", name, message, "Download the file again, or publish again.")
    own_names = OWN | RECORDED | {name.partition("/")[0] for name in listed if "/" in name}
    for name in published.files:
        if name in listed or name in (SUMS, SIGNATURE):  # the signature signs the checksums
            continue
        first = name.partition("/")[0]
        # Only advice for a file or folder that the publication never writes, unless it is signed:
        # then nothing may be added, such as a script that takes over the whole site.
        own = not own_names.isdisjoint((first, first.partition(".")[0]))
        advice = not own and SIGNATURE not in published.files
        remedy = (
            _AGAIN
            if own
            else "Remove it unless you put it there."
            if advice
            else "Remove it: nobody signed it."
        )
        yield Fault("checksum", "", name, f"The file is not in {SUMS}.", remedy, advice)


def agreement(published: PublicationFiles) -> Iterator[Fault]:
    """Yield a joined dump that differs in size from its parts."""
    sizes: dict[str, int] = {}
    for path in published.files_in("data"):
        form, name = file_reading.parts(path)[0], published.name(path)
        if form != ".nq":
            continue
        try:
            number = file_reading.count(path, published.password)
        except PublicationRefused:
            continue
        except file_reading.Unreadable as error:
            yield Fault("readable", "", name, f"The file {error}.", _AGAIN)
            continue
        sizes[path.name.split(".")[0]] = number
    total, parts = sizes.pop("all", None), sum(sizes.values())
    if total is not None and total != parts:
        message = f"The dump of everything has {total} quads, its parts have {parts}."
        yield Fault("dumps-agree", "", "data/all.*", message, _AGAIN)
