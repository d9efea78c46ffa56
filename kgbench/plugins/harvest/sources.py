# SPDX-License-Identifier: Apache-2.0
"""The folder of harvested sources: the state and the store of each.

::

    FOLDER/NAME/source.json   address, base, version, keys, parts with their digests, time
    FOLDER/NAME/store/        the results of this source only
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from kgbench import files
from kgbench.api import ResourceError
from kgbench.signing.key_list import KeyEntry, standing

STATE: Final = "source.json"
RUN: Final = "data/run-"
"""The beginning of the paths of data files with a run."""


@dataclass(frozen=True, slots=True)
class HarvestedSource:
    """The state of a harvested source.

    ``signer`` is the key (Multikey) that signed it, ``None`` for an unsigned source; ``vouched``
    says whether the user has named that key. ``keys`` are the keys that the source lists.
    ``sums`` is the SHA-256 of the source's ``SHA256SUMS``. ``parts`` has the SHA-256 of its data
    files by path, and ``canonical`` their RDFC-1.0 digests, if it is signed.
    """

    name: str
    address: str
    base: str
    version: int
    harvested: str
    sums: str
    signer: str | None = None
    vouched: bool = False
    keys: tuple[KeyEntry, ...] = ()
    parts: dict[str, str] = field(default_factory=dict)
    canonical: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> set[str]:
        """The ids of its runs."""
        paths = (path for path in self.parts if path.startswith(RUN))
        return {path.removeprefix(RUN).partition(".")[0] for path in paths}

    @property
    def trust(self) -> str:
        """Who signed it, and whether the user named that key, in words."""
        return standing(self.signer, vouched=self.vouched)

    def is_called(self, name: str) -> bool:
        """Return whether ``name`` is the name, address, base or a key of this source."""
        called = {self.name, self.address, self.address.rstrip("/"), self.base, self.signer}
        return name in called


def read(folder: Path) -> HarvestedSource | None:
    """Read the source in ``folder/source.json``; ``None`` if there is none.

    Raises :class:`~kgbench.errors.ResourceError` if the file is damaged.
    """
    path = folder / STATE
    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        fields["keys"] = tuple(KeyEntry(**key) for key in fields["keys"])
        return HarvestedSource(**fields)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise ResourceError(
            f"{path} cannot be read ({error}): remove {folder} and harvest again"
        ) from None


def write(folder: Path, source: HarvestedSource) -> None:
    """Write the state of a source, atomically."""
    text = json.dumps(asdict(source), indent=1, ensure_ascii=False)
    files.write(folder / STATE, text + "\n")


def all_sources(folder: Path) -> Iterator[tuple[Path, HarvestedSource]]:
    """Yield all sources in a folder, with their paths, by name.

    Raises :class:`~kgbench.errors.ResourceError` if there are none.
    """
    states = [(path, read(path)) for path in sorted(folder.glob("*")) if path.is_dir()]
    known = [(path, source) for path, source in states if source is not None]
    if not known:
        raise ResourceError(
            f"{folder} has no harvested sources: run kgbench harvest URL --into {folder}"
        )
    yield from known
