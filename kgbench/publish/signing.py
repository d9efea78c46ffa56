# SPDX-License-Identifier: Apache-2.0
"""Signing of a publication: its keys, its claims, its data in canonical form, and all files.

``keys.jsonld`` is the controller document, ``signed/`` has the claims with proofs, and
``signature.jsonld`` signs the SHA-256 of ``SHA256SUMS`` (and so of every file) together with the
RDFC-1.0 digest of each part of the data. An unchanged document keeps its proof.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, SignatureError
from kgbench.publish.folder import Dump, Folder, Manifest, Unit
from kgbench.signing import proofs
from kgbench.signing.key_list import SUFFIX, KeyList
from kgbench.signing.keys import SigningKey
from kgbench.signing.proofs import Document

KEYS: Final = "keys.jsonld"
SIGNATURE: Final = "signature.jsonld"
SIGNED: Final = "signed"
CLAIMS: Final = "claims"
SUMS: Final = "SHA256SUMS"
_CACHE: Final = "canonical.json"


@dataclass(frozen=True)
class Signer:
    """Signs publications with one key, and publishes the list of its owner's keys."""

    key: SigningKey
    keys: KeyList
    password: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, path: Path, out: Path, password: str | None = None) -> Self:
        """Return the signer with the key file ``path``, for a publication in ``out``.

        ``password`` is that of encrypted dumps. Raises :class:`~kgbench.errors.SignatureError` for
        a key that cannot be used, and :class:`~kgbench.errors.PublicationRefused` for one in the
        published folder.
        """
        if path.resolve().is_relative_to(out.resolve()):
            raise PublicationRefused(
                f"the private key {path} is in the folder to be published: move it elsewhere"
            )
        key = SigningKey.read(path)
        keys = KeyList.read(path)
        if key.public not in keys.entries:
            raise SignatureError(f"{path.name}{SUFFIX} does not list the key {path}: restore it")
        if keys.entries[key.public].revoked is not None:
            raise SignatureError(f"the key {path} is revoked: sign with another one")
        return cls(key, keys, password)

    def sign(self, folder: Folder, manifest: Manifest) -> None:
        """Write the keys and the signed claims, and add a unit with these files to the manifest."""
        before = set(folder.written)
        keys = manifest.base + KEYS
        self._write(folder, KEYS, self.keys.document(keys), keys)
        for path in sorted(folder.written):
            if path.startswith(f"{CLAIMS}/"):
                claim = ox.parse((folder.path / path).read_bytes(), ox.RdfFormat.TURTLE)
                unsigned = proofs.document_of_quads(sorted(claim, key=str))
                self._write(folder, signed_claim(path), unsigned, keys)
        ours = {path: checksum for path, checksum in folder.written.items() if path not in before}
        manifest.units["signature"] = Unit("", {**ours, SIGNATURE: ""})

    def seal(self, folder: Folder, manifest: Manifest) -> None:
        """Sign the checksums of all files and the canonical form of the data."""
        base, version = manifest.base, manifest.versions[-1]
        content = {
            "id": base + SIGNATURE,
            "about": f"{base}#dataset",
            "version": str(version.number),
            "keys": base + KEYS,
            "parts": [
                {"id": base + SUMS, "sha256": folder.written[SUMS]},
                *(
                    {"id": base + path, "canonicalSha256": digest}
                    for path, digest in self._canonical(folder, version.dumps).items()
                ),
            ],
        }
        self._write(folder, SIGNATURE, proofs.document(content), base + KEYS)

    def _canonical(self, folder: Folder, dumps: tuple[Dump, ...]) -> Mapping[str, str]:
        """Return the RDFC-1.0 digest of each part of the data by path; digests are cached."""
        from kgbench.publish.dumps import Unreadable, opened

        cache = folder.state / _CACHE
        cached = json.loads(cache.read_text(encoding="utf-8")) if cache.is_file() else {}
        digests, kept = {}, {}
        for dump in dumps:
            if dump.path.startswith("data/all."):
                continue
            if dump.content not in cached:
                try:
                    with opened(folder.path / dump.path, self.password) as content:
                        quads: Any = ox.parse(content, ox.RdfFormat.N_QUADS)
                        cached[dump.content] = proofs.digest(quads, folder.state)
                except (Unreadable, SignatureError) as error:
                    raise PublicationRefused(
                        f"{dump.path}: {error}, so it cannot be signed: leave out its run (--run)"
                    ) from error
            kept[dump.content] = digests[dump.path] = cached[dump.content]
        cache.write_text(json.dumps(kept), encoding="utf-8")
        return digests

    def _write(self, folder: Folder, path: str, unsigned: Document, keys: str) -> None:
        """Write a document with a proof, that of the existing document if it says the same."""
        method = f"{keys}#{self.key.public}"
        secured = None
        with contextlib.suppress(OSError, SignatureError):
            earlier = proofs.read((folder.path / path).read_bytes())
            by_this_key = proofs.claimed_proof(earlier).method == method
            if by_this_key and proofs.verify(earlier, self.key.public) == unsigned:
                secured = earlier
        if secured is None:
            secured = proofs.secure(unsigned, self.key, method, datetime.now(UTC))
        folder.write(path, proofs.serialise(secured))


def signed_claim(claim: str) -> str:
    """Return the path of the signed document with the claim at the path ``claim``."""
    return f"{SIGNED}{claim.removeprefix(CLAIMS).removesuffix('.ttl')}.jsonld"
