# SPDX-License-Identifier: Apache-2.0
"""Keys of this process and of a store's runs are in no file of its publication."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from kgbench.connectors import keys
from kgbench.publish.redaction import RedactionLevel
from kgbench.vocab import KGB
from tests.publish.conftest import publish
from tests.publish.reading import everything
from tests.serve import stores

pytestmark = pytest.mark.usefixtures("quick")


def test_no_known_key_is_published(tmp_path, monkeypatch):
    """No file has a key of this process or of the store's runs, plain or escaped once."""
    known = [f"{name}+planted/1234" for name in ("environment", "named", "ring")]
    monkeypatch.setenv("PLANTED_API_KEY", known[0])
    monkeypatch.setenv("MY_SERVER", known[1])  # its name suggests no secret
    ring = {"OPENAI_API_KEY": known[2]}
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(keys, "_of_key_ring", lambda name: (ring.get(name, ""), ""))
    forms = [form for key in known for form in (key, quote(key, safe=""), key.replace("/", "\\/"))]
    stores.make(
        tmp_path / "store",
        texts={
            "a-n-n-e": f"the keys are {' and '.join(forms)}",
            "500 Internal Server Error": f"refused {', '.join(forms)}",
            "[] a <https://w3id.org/kgbench/ns#Configuration> .": (
                f'[] <{KGB.spec}> "openai:m?key_env=MY_SERVER" . # {" ".join(forms)}'
            ),
        },
    )
    out = tmp_path / "site"
    publish(tmp_path / "store", out, level=RedactionLevel.NONE, runs=("1",))

    content = [data for _, data in everything(out)]
    assert any(b"refused" in data for data in content)
    for form in forms:
        assert not any(form.encode() in data for data in content), form
