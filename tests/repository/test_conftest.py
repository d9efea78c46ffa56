# SPDX-License-Identifier: Apache-2.0
"""The rules of every test: no network, no keys, no silent skip of external tests."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from conftest import GIVEN

EXTERNAL = "KGBENCH_EXTERNAL_DATA"
SAMPLE = """
import pytest

def test_reads_published_data(external_data):
    assert external_data.is_dir()

def test_gives_up(external_data):
    pytest.skip("because")

@pytest.mark.external
def test_marked_gives_up():
    pytest.skip("because")

def test_ordinary_gives_up():
    pytest.skip("because")
"""


@pytest.fixture
def sample(pytester, repository, monkeypatch):
    """Return a function that runs sample tests under this conftest in a subprocess."""
    monkeypatch.setenv("PYTHONPATH", str(repository))
    pytester.makeconftest((repository / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n    external: x\n    slow: y\n")
    pytester.makepyfile(SAMPLE)

    def run():
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:randomly", "-rs")

    return run


def test_external_tests_may_not_skip_with_the_data(sample, monkeypatch, tmp_path):
    """With the folder, a skip of an external test is a failure; other tests may be skipped.

    Without it none fails; a named but missing folder stops the test run.
    """
    monkeypatch.delenv(EXTERNAL, raising=False)
    sample().assert_outcomes(skipped=4)
    monkeypatch.setenv(EXTERNAL, str(tmp_path / "nowhere"))
    result = sample()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nowhere*is not a folder*"])
    monkeypatch.setenv(EXTERNAL, str(tmp_path))
    result = sample()

    result.assert_outcomes(passed=1, failed=2, skipped=1)
    result.stdout.fnmatch_lines([f"*{EXTERNAL} is set, so this test may not skip. It did: *"])


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.org", 80)])
def test_other_machines_cannot_be_reached(address):
    """A connection or datagram to a non-loopback address or name raises before it is sent."""
    with pytest.raises(RuntimeError, match="a test tried to reach"):
        socket.create_connection(address, timeout=1)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        pytest.raises(RuntimeError, match="a test tried to reach"),
    ):
        sender.sendto(b"x", ("192.0.2.1", 9))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_works(host):
    """A test can reach its own server on this machine."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection((host, server.getsockname()[1]), timeout=5) as client,
    ):
        accepted, _ = server.accept()
        accepted.close()

        assert client.getpeername()[0] == "127.0.0.1"


def test_child_processes_are_sent_to_a_dead_proxy():
    """A request for an external page, here or in a Python child process, meets a dead proxy."""
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen("http://192.0.2.1/", timeout=5)
    code = "import urllib.request; urllib.request.urlopen('http://192.0.2.1/', timeout=5)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "Connection refused" in done.stderr


def test_keys_of_the_person_are_out_of_reach():
    """No API key or kgbench setting of the surrounding environment is visible in a test."""
    seen = [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("KGBENCH_")]

    assert set(seen) <= set(GIVEN)
