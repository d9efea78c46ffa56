# SPDX-License-Identifier: Apache-2.0
"""Small configurations for tests, and the shapes of configurations for pySHACL, the oracle."""

from functools import cache

from rdflib import Graph

from kgbench import resources

GOOD = """\
name: small
tasks:
  - RdfFriendCount-turtle-1
models:
  - baseline:oracle
iterations: 2
"""


def write(folder, text, name="small.yaml"):
    """Write ``text`` to a new file in ``folder`` and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def changed(old, new):
    """Return the small configuration with one passage replaced."""
    assert old in GOOD
    return GOOD.replace(old, new)


@cache
def shape_graph():
    """Return the shapes of configurations as a graph of rdflib."""
    return Graph().parse(data=resources.text("shapes", "configuration.ttl"), format="turtle")
