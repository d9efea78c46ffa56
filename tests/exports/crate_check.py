# SPDX-License-Identifier: Apache-2.0
"""``python crate_check.py CRATE PROFILE``: what roc-validator says of a crate, offline.

Runs in the environment of the validators. The one thing that the validator would fetch, the JSON-LD
context of RO-Crate, is answered with what that context says of the terms of our crates.
"""

import json
import sys
from pathlib import Path

from rocrate_validator import services
from rocrate_validator.models import Severity
from rocrate_validator.utils import http

CONTEXTS = {f"https://w3id.org/ro/crate/{version}/context" for version in ("1.1", "1.2")}


class Answer:
    """What the context's address would answer."""

    status_code = 200
    ok = True

    def __init__(self) -> None:
        self.headers = {"Content-Type": "application/ld+json"}
        self.links = {}
        terms = json.loads(Path(__file__).with_name("ro-crate-terms.json").read_text("utf-8"))
        self.text = json.dumps({"@context": terms})
        self.content = self.text.encode("utf-8")

    def json(self):
        """The context."""
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
