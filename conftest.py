# SPDX-License-Identifier: Apache-2.0
"""Rules for every test: no network, no keys of the user, no silent gap.

* A socket to any other machine is refused, in this process by an audit hook and in
  Python child processes by a proxy address at which nothing listens.
* API keys and kgbench settings of the surrounding environment are removed.
* No data set is installed, even if the user has installed some.
* Nothing is timed: a property that holds slowly on a busy machine holds.
* With ``KGBENCH_EXTERNAL_DATA`` set, a test of published data that skips counts as failed.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

EXTERNAL = "KGBENCH_EXTERNAL_DATA"
#: Settings that tests keep: folders of official shapes and schemas, which cannot be shipped.
GIVEN = (EXTERNAL, "KGBENCH_CATALOGUE_SHAPES", "KGBENCH_RECORD_SCHEMA")
NOBODY_LISTENS = "http://127.0.0.1:9"
OUTGOING = ("socket.connect", "socket.sendto", "socket.sendmsg")
LOOKUPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyname_ex")

pytest_plugins = (
    "pytester",
    "tests.costs",
    "tests.support.judges",
    "tests.support.templates",
    "tests.support.store_kinds",
    "tests.support.stores",
)
settings.register_profile("kgbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kgbench")


class NetworkInTestError(RuntimeError):
    """A test tried to reach another machine; it should start a server on 127.0.0.1 instead."""


def is_loopback(host: object) -> bool:
    """Return whether ``host``, a name or an address, is this machine (``None`` and "" are)."""
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", errors="replace")
    if host is None or host in ("", "localhost", "ip6-localhost"):
        return True
    try:
        address = ipaddress.ip_address(str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: raise :class:`NetworkInTestError` if a socket would leave this machine."""
    if event in OUTGOING:
        address = arguments[1]
        # Only internet addresses are tuples; a path or a netlink number stays on the machine.
        host = address[0] if isinstance(address, tuple) and len(address) in (2, 4) else None
        if isinstance(host, int):
            return
    elif event in LOOKUPS:
        host = arguments[0]
    else:
        return
    if not is_loopback(host):
        raise NetworkInTestError(f"{event}: a test tried to reach {host}")


def pytest_configure(config: pytest.Config) -> None:
    """Close the network, clear the environment, check the folder of published data."""
    for name in list(os.environ):
        ours = name.startswith("KGBENCH_") and name not in GIVEN
        if ours or name.upper().endswith(("_API_KEY", "_PROXY", "_BASE_URL")):
            del os.environ[name]
    state = tempfile.mkdtemp(prefix="kgbench-tests-state-")
    os.environ.update(
        XDG_STATE_HOME=state,
        XDG_DATA_HOME=f"{state}/data",
        HTTP_PROXY=NOBODY_LISTENS,
        HTTPS_PROXY=NOBODY_LISTENS,
        ALL_PROXY=NOBODY_LISTENS,
        NO_PROXY="localhost,127.0.0.1,::1",
    )
    if not hasattr(config, "workerinput"):
        named = os.environ.get(EXTERNAL)
        if named is not None and not Path(named).is_dir():
            raise pytest.UsageError(f"{EXTERNAL} names {named!r}, which is not a folder")
    # The process that only distributes tests opens no socket of its own either.
    sys.addaudithook(refuse_network)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that takes ``external_data`` as external."""
    for item in items:
        if "external_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.external)


@pytest.hookimpl(tryfirst=True)  # before workers report to the process that distributes tests
def pytest_collection_finish(session: pytest.Session) -> None:
    """Run the files that cost most first, so that nothing waits for one of them at the end.

    Of files without wide tests, those with few tests take longest. Objects loaded for collection
    live until the end, so the garbage collector skips them.
    """
    from tests import costs  # pytest rewrites what it loads as a plugin before it is imported

    known = costs.by_node(costs.listed()["wide"])
    cost: defaultdict[Path, float] = defaultdict(float)
    for item in session.items:
        cost[item.path] += known.get(item.nodeid, 0)
    tests = Counter(item.path for item in session.items)
    session.items.sort(key=lambda item: (-cost[item.path], tests[item.path]))
    gc.collect()
    gc.freeze()
    runner = sys.modules.get("typer.testing")
    if runner is not None:  # an app's commands never change; building them takes 30 ms
        runner.__dict__["_get_command"] = cache(runner.__dict__["_get_command"])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove the state folder; save a worker's measurements for ``make coverage``.

    A worker that is slow to end is killed.
    """
    shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)
    measuring = sys.modules.get("coverage")
    if measuring is not None and hasattr(session.config, "workerinput"):
        current = measuring.Coverage.current()
        if current is not None:
            current.save()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of an external test into a failure if the published data is promised."""
    report = yield
    promised = EXTERNAL in os.environ and item.get_closest_marker("external") is not None
    if promised and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{EXTERNAL} is set, so this test may not skip. It did: {reason}"
    return report


@pytest.fixture(scope="session")
def external_data() -> Path:
    """Return the folder of published data; skip if ``KGBENCH_EXTERNAL_DATA`` is not set."""
    named = os.environ.get(EXTERNAL)
    if named is None:
        pytest.skip(f"needs published data: set {EXTERNAL} to its folder")
    return Path(named).resolve()


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the checkout."""
    return Path(__file__).resolve().parent
