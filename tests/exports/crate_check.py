# SPDX-License-Identifier: Apache-2.0
"""``python crate_check.py CRATE``: what roc-validator says of a Process Run Crate, offline.

Runs in the environment of the validators. The one thing that the validator would fetch, the JSON-LD
context of RO-Crate 1.1, is replaced by the later one that the package rocrate brings.
"""

import importlib.resources
import json
import sys

from rocrate_validator import services
from rocrate_validator.models import Severity
from rocrate_validator.utils import http

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


class Answer:
    """What the context's address would answer."""

    status_code = 200
    ok = True

    def __init__(self) -> None:
        self.headers = {"Content-Type": "application/ld+json"}
        self.links = {}
        found = importlib.resources.files("rocrate") / "data" / "ro-crate.jsonld"
        self.text = found.read_text("utf-8")
        self.content = self.text.encode("utf-8")

    def json(self):
        """The context."""
        return json.loads(self.text)


def main() -> None:
    """Print the issues as JSON."""
    real = http.HttpRequester.__getattr__

    def patched(self, name):
        if name == "get":
            return lambda url, **_: Answer() if str(url) == CONTEXT else real(self, name)(url)
        return real(self, name)

    http.HttpRequester.__getattr__ = patched
    settings = services.ValidationSettings(
        rocrate_uri=sys.argv[1],
        profile_identifier="process-run-crate-0.5",
        requirement_severity=Severity.RECOMMENDED,
        offline=True,
    )
    result = services.validate(settings)
    found = [[str(issue.severity), issue.message] for issue in result.get_issues()]
    print(json.dumps(found))  # noqa: T201 - the answer


main()
