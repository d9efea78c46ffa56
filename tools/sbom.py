# SPDX-License-Identifier: Apache-2.0
"""A software bill of materials: ``python -m tools.sbom [EXTRA...]``, CycloneDX 1.6.

It lists kgbench and every installed distribution that it depends on with the named extras, with
licences and dependencies. If ``SOURCE_DATE_EPOCH`` is set, the same installation gives the same
bytes.
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
    """Return the bill of materials of the kgbench that is installed here, as JSON-shaped data."""
    packages = brought_along(extras)
    references = {name: _reference(name, package) for name, package in packages.items()}
    subject, *others = (_component(name, package, references) for name, package in packages.items())
    subject["type"] = "application"
    content: dict[str, Json] = {
        "components": others,
        "dependencies": [
            {"ref": references[name], "dependsOn": [references[need] for need in package.needs]}
            for name, package in packages.items()
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


def _reference(name: str, package: Distribution) -> str:
    """Return the package URL, with name and version on the Python Package Index."""
    return f"pkg:pypi/{quote(name)}@{quote(package.version)}"


def _component(name: str, package: Distribution, references: Mapping[str, str]) -> dict[str, Json]:
    component: dict[str, Json] = {
        "type": "library",
        "bom-ref": references[name],
        "name": package.name,
        "version": package.version,
        "purl": references[name],
    }
    if package.licence is not None:
        component["licenses"] = [{"expression": package.licence}]
    return component


def _moment() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    json.dump(bill(sys.argv[1:]), sys.stdout, indent=1)
    sys.stdout.write("\n")
