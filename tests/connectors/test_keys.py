# SPDX-License-Identifier: Apache-2.0
"""Keys come from the environment, then from a key ring, and from nowhere else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kgbench.connectors import keys
from kgbench.engine.session import Journal
from kgbench.errors import ModelSpecError
from tests.connectors import answer, setup_for
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

keyring = pytest.importorskip("keyring", reason="the extra kgbench[keyring] is not installed")
backend = pytest.importorskip("keyring.backend")
errors = pytest.importorskip("keyring.errors")

KEPT = "entirely-unshaped-secret-of-the-ring"


class Ring(backend.KeyringBackend):
    """A key ring in memory; if locked, it raises an error."""

    priority = 1

    def __init__(self, locked=False, **kept):
        super().__init__()
        self.locked = locked
        self.kept = kept
        self.asked = []

    def get_password(self, service, username):
        """Return the entry of the ring."""
        self.asked.append((service, username))
        if self.locked:
            raise errors.KeyringLocked(f"locked, though it has {KEPT}")
        return self.kept.get(username)

    def set_password(self, service, username, password):
        """Do nothing: no test needs it."""
        raise NotImplementedError

    def delete_password(self, service, username):
        """Do nothing: no test needs it."""
        raise NotImplementedError


@pytest.fixture
def ring(monkeypatch):
    """Yield a function that installs a ring; the environment has no keys."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = keyring.get_keyring()

    def make(**details):
        made = Ring(**details)
        keyring.set_keyring(made)
        return made

    yield make
    keyring.set_keyring(before)


def test_the_environment_goes_first(ring, monkeypatch):
    """A key in the environment is used without asking the ring."""
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    made = ring(OPENAI_API_KEY=KEPT)

    found = keys.find_key(setup_for("openai", "m"), "OPENAI_API_KEY", needed=True)
    assert (found, made.asked) == ("of-the-environment", [])


def test_a_kept_key_reaches_the_server_and_no_log(ring):
    """A key from the ring is sent, and hidden like the keys of the environment."""
    pytest.importorskip("openai", reason="the extra kgbench[openai] is not installed")
    from kgbench.connectors import openai

    made = ring(OPENAI_API_KEY=f"{KEPT}\n")
    with LoopbackServer(OpenAISpeech()) as server:
        answer(openai, setup_for("openai", "m", server.url))
    said = []
    Journal(say=said.append).note("failure", error=f"bad key {KEPT}")

    assert server.ledger[0].headers["authorization"] == f"Bearer {KEPT}"
    assert made.asked == [("kgbench", "OPENAI_API_KEY")]
    assert KEPT not in said[0]


def test_a_locked_ring_is_named_where_a_key_is_needed(ring):
    """A locked ring is named with advice, but only if a key is needed."""
    ring(locked=True)
    with pytest.raises(ModelSpecError, match=r"OPENAI_API_KEY.*KeyringLocked") as raised:
        keys.find_key(setup_for("openai", "m"), "OPENAI_API_KEY", needed=True)

    assert KEPT not in str(raised.value)
    assert keys.find_key(setup_for("openai", "m"), "OPENAI_API_KEY", needed=False) is None


def test_a_kept_key_that_no_header_carries_is_refused(ring):
    """A key with a line break within is refused by the name of its variable and not shown."""
    ring(OPENAI_API_KEY="one\ntwo")
    with pytest.raises(ModelSpecError, match="the key in OPENAI_API_KEY") as raised:
        keys.find_key(setup_for("openai", "m"), "OPENAI_API_KEY", needed=False)

    assert "two" not in str(raised.value)


def test_the_ring_is_loaded_when_a_key_is_looked_for_and_not_before():
    """The key ring is loaded only when a key is needed; without the package there is none."""
    code = (
        "import json, os, sys\n"
        "from kgbench.connectors import keys\n"
        "from tests.connectors import setup_for\n"
        "before = 'keyring' in sys.modules\n"
        "sys.modules['keyring'] = None\n"
        "os.environ.pop('OPENAI_API_KEY', None)\n"
        "none = keys.find_key(setup_for('openai', 'm'), 'OPENAI_API_KEY', needed=False)\n"
        "try:\n    keys.find_key(setup_for('openai', 'm'), 'OPENAI_API_KEY', needed=True)\n"
        "except Exception as error:\n    said = str(error)\n"
        "print(json.dumps([before, none, said]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, none, said = json.loads(done.stdout)

    assert (before, none) == (False, None)
    assert "pip install 'kgbench[keyring]'" in said
