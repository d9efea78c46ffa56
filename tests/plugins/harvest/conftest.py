# SPDX-License-Identifier: Apache-2.0
"""Groups that publish, and sources harvested from them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from datetime import UTC, datetime

import pytest

from kgbench.errors import SignatureError
from kgbench.plugins.harvest.harvester import harvest
from kgbench.publish import dumps
from kgbench.publish.checks.signatures import digest
from kgbench.publish.signing import Signer
from kgbench.signing.key_list import KeyList
from kgbench.signing.keys import SigningKey
from kgbench.signing.proofs import read, secure, serialise
from tests.publish.conftest import command, hasten, publish

SHARED = "baseline:noisy?rate=0.5&seed=3"
TASK = "RdfFriendCount-turtle-1"


def run(store, *models, task=TASK, iterations=2):
    """Run models on a task."""
    chosen = [word for model in models for word in ("-m", model)]
    command("run", "--store", store, "-t", task, *chosen, "--iterations", iterations)


class Published:
    """A group: its key, its store and its publication."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.store, self.site = folder / "store", folder / name
        self.key = folder / "key"
        if not self.key.exists():
            command("keys", "new", self.key)

    @property
    def public(self):
        """Return the public key."""
        return SigningKey.read(self.key).public

    def publish(self, *, signed=True):
        """Publish the store."""
        signer = Signer.read(self.key, self.site) if signed else None
        base = f"https://{self.name}.example.org/bench/"
        with pytest.MonkeyPatch.context() as patch:
            hasten(patch)
            return publish(self.store, self.site, base=base, signer=signer)


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """Return three published groups; each ran the shared model and one of its own."""
    folder = tmp_path_factory.mktemp("groups")
    for number, name in enumerate(("ada", "bob", "eve")):
        (folder / name).mkdir()
        group = Published(folder / name, name)
        run(group.store, SHARED, f"baseline:noisy?rate=0.2&seed={number}")
        group.publish()
    return folder


@pytest.fixture
def groups(originals, tmp_path):
    """Return copies of the groups that a test may change."""
    # Harvesting does not read pages, and there are many.
    pages = shutil.ignore_patterns("*.html", "*.ttl", "*.nt", "*.svg", "*.rq", "static")
    shutil.copytree(originals, tmp_path / "groups", ignore=pages)
    return {name: Published(tmp_path / "groups" / name, name) for name in ("ada", "bob", "eve")}


def harvested(addresses, folder, keys=(), **how):
    """Harvest with sufficient limits and return the outcomes."""
    given = {"max_bytes": 1 << 28, "seconds": 300.0, **how}
    return list(harvest([str(one) for one in addresses], folder, keys, **given))


def board(folder, *arguments, code=0):
    """Return the leaderboard of harvested sources, as rows by model, and its notes."""
    told = command(
        *("analyze", "leaderboard", "--sources", folder, "--json", *arguments), code=code
    )
    found = json.loads(told)
    return {row["model"]: row for row in found["rows"]}, found["notes"]


def keys(groups):
    """Return the public keys of all groups."""
    return [group.public for group in groups.values()]


def tampered(group):
    """Change the data of a group and renew the checksum, but not the signature."""
    import zstandard

    [path] = group.site.glob("data/run-*.nq.zst")
    with dumps.opened(path, None) as content:
        text = content.read().decode()
    path.write_bytes(zstandard.compress(text.replace("#double>", "#float>", 1).encode()))
    renew(group, path)


def renew(group, path):
    """Renew the checksum of a file."""
    name = path.relative_to(group.site).as_posix()
    told = hashlib.sha256(path.read_bytes()).hexdigest()
    sums = group.site / "SHA256SUMS"
    lines = sums.read_text().splitlines()
    sums.write_text(
        "".join(f"{told}  {name}\n" if one.endswith(f"  {name}") else f"{one}\n" for one in lines)
    )


def seal(group, **changes):
    """Sign the keys, the checksums and the data of a group again, with ``changes``."""
    key, base = SigningKey.read(group.key), f"https://{group.name}.example.org/bench/"
    path = group.site / "signature.jsonld"
    content = {**read(path.read_bytes()), **changes}
    del content["proof"]
    sums = hashlib.sha256((group.site / "SHA256SUMS").read_bytes()).hexdigest()
    content["parts"][0]["sha256"] = sums
    for part in content["parts"][1:]:
        with contextlib.suppress(SignatureError):
            part["canonicalSha256"] = digest(group.site / part["id"].removeprefix(base), None)
    listed = KeyList.read(group.key).document(f"{base}keys.jsonld")
    for name, unsigned in (("keys.jsonld", listed), ("signature.jsonld", content)):
        method = f"{base}keys.jsonld#{key.public}"
        signed = secure(unsigned, key, method, datetime.now(UTC))
        (group.site / name).write_text(serialise(signed))
