# SPDX-License-Identifier: Apache-2.0
"""A software bill of materials: ``python -m tools.sbom [EXTRA...]``, CycloneDX 1.6.

It lists kgbench and every installed distribution that it brings along with the named extras, with
licences and what needs what. The same installation gives the same bytes where
``SOURCE_DATE_EPOCH`` is set.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from kgbench.model import Json
from tools.distributions import Distribution, brought_along


def bill(extras: Collection[str] = ()) -> dict[str, Json]:
    """The bill of materials of the kgbench that is installed here, as JSON-shaped data."""
    found = brought_along(extras)
    references = {name: _reference(name, each) for name, each in found.items()}
    subject, *others = (_component(name, each, references) for name, each in found.items())
    subject["type"] = "application"
    content: dict[str, Json] = {
        "components": others,
        "dependencies": [
            {"ref": references[name], "dependsOn": [references[one] for one in each.needs]}
            for name, each in found.items()
        ],
    }
    metadata = {"timestamp": _moment(), "lifecycles": [{"phase": "build"}], "component": subject}
    name = json.dumps([metadata, content], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, name).urn,
        "version": 1,
        "metadata": metadata,
        **content,
    }


def _reference(name: str, each: Distribution) -> str:
    """The package URL, which says name and version on the Python Package Index."""
    return f"pkg:pypi/{quote(name)}@{quote(each.version)}"


def _component(name: str, each: Distribution, references: Mapping[str, str]) -> dict[str, Json]:
    made: dict[str, Json] = {
        "type": "library",
        "bom-ref": references[name],
        "name": each.name,
        "version": each.version,
        "purl": references[name],
    }
    if each.licence is not None:
        made["licenses"] = [{"expression": each.licence}]
    return made


def _moment() -> str:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.now(UTC) if given is None else datetime.fromtimestamp(int(given), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    json.dump(bill(sys.argv[1:]), sys.stdout, indent=1)
    sys.stdout.write("\n")
