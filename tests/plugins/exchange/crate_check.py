# SPDX-License-Identifier: Apache-2.0
"""``python crate_check.py CRATE PROFILE``: prints roc-validator's issues of a crate, offline.

Runs in the environment of the validators. The validator would fetch only the JSON-LD context of
RO-Crate 1.3; it gets that of the package rocrate instead. A copy that declares RO-Crate 1.1, for
profiles of that version, gets the same context.
"""

import importlib.resources
import json
import sys

from rocrate_validator import services
from rocrate_validator.models import Severity
from rocrate_validator.utils import http

CONTEXTS = {f"https://w3id.org/ro/crate/{version}/context" for version in ("1.1", "1.3")}


class Answer:
    """A response with the context."""

    status_code = 200
    ok = True

    def __init__(self) -> None:
        self.headers = {"Content-Type": "application/ld+json"}
        self.links = {}
        file = importlib.resources.files("rocrate") / "data" / "ro-crate.jsonld"
        self.text = file.read_text(encoding="utf-8")
        self.content = self.text.encode("utf-8")

    def json(self):
        """Return the context."""
        return json.loads(self.text)


def main() -> None:
    """Print the issues as JSON."""
    real = http.HttpRequester.__getattr__

    def patched(self, name):
        if name == "get":
            return lambda url, **_: Answer() if str(url) in CONTEXTS else real(self, name)(url)
        return real(self, name)

    http.HttpRequester.__getattr__ = patched
    settings = services.ValidationSettings(
        rocrate_uri=sys.argv[1],
        profile_identifier=sys.argv[2],
        requirement_severity=Severity.RECOMMENDED,
        offline=True,
    )
    result = services.validate(settings)
    found = [[str(issue.severity), issue.message] for issue in result.get_issues()]
    print(json.dumps(found))  # noqa: T201 - the answer


main()
