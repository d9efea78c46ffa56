# SPDX-License-Identifier: Apache-2.0
"""The rules that hold in every test: no network, no keys, no silent gap in external tests."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.conftest import GIVEN

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
    """A folder with our conftest and a few tests; a function that runs them."""
    monkeypatch.setenv("PYTHONPATH", str(repository))
    pytester.makeconftest((repository / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n    external: x\n    slow: y\n")
    pytester.makepyfile(SAMPLE)

    def run():
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:randomly", "-rs")

    return run


def test_external_tests_skip_without_the_data(sample, monkeypatch):
    """Without the folder, tests of published data skip and nothing fails."""
    monkeypatch.delenv(EXTERNAL, raising=False)

    sample().assert_outcomes(skipped=4)


def test_external_tests_may_not_skip_with_the_data(sample, monkeypatch, tmp_path):
    """With the folder, a skip of an external test is a failure; other tests may still skip."""
    monkeypatch.setenv(EXTERNAL, str(tmp_path))
    result = sample()

    result.assert_outcomes(passed=1, failed=2, skipped=1)
    result.stdout.fnmatch_lines([f"*{EXTERNAL} is set, so this test may not skip. It did: *"])


def test_missing_folder_is_an_error(sample, monkeypatch, tmp_path):
    """A folder that is named but does not exist stops the test run and is named."""
    monkeypatch.setenv(EXTERNAL, str(tmp_path / "nowhere"))
    result = sample()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nowhere*is not a folder*"])


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.org", 80)])
def test_other_machines_cannot_be_reached(address):
    """A connection to an address or name that is not loopback raises before a packet leaves."""
    with pytest.raises(RuntimeError, match="a test tried to reach"):
        socket.create_connection(address, timeout=1)


def test_datagrams_stay_at_home():
    """A datagram to another machine is refused before it leaves, too."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        pytest.raises(RuntimeError, match=r"192\.0\.2\.1"),
    ):
        sender.sendto(b"x", ("192.0.2.1", 9))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_works(host):
    """A server of the test's own on this machine can be reached."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection((host, server.getsockname()[1]), timeout=5) as client,
    ):
        accepted, _ = server.accept()
        accepted.close()

        assert client.getpeername()[0] == "127.0.0.1"


def test_child_processes_are_sent_to_a_dead_proxy():
    """A Python child that asks for a page outside gets no answer, whatever the machine allows."""
    code = "import urllib.request; urllib.request.urlopen('http://192.0.2.1/', timeout=5)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "Connection refused" in done.stderr


def test_this_process_reaches_no_page():
    """The proxy is the same here: the request ends at this machine."""
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen("http://192.0.2.1/", timeout=5)


def test_keys_of_the_person_are_out_of_reach():
    """No API key or kgbench setting of the surrounding environment is seen by a test."""
    seen = [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("KGBENCH_")]

    assert set(seen) <= set(GIVEN)
