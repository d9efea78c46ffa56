# SPDX-License-Identifier: Apache-2.0
"""The probe is installed for every test of judging."""

import pytest

from kgbench.execution.judging import end_child
from kgbench.tasks import catalogue
from tests.execution.judging.probing import PROBE


@pytest.fixture(autouse=True, scope="module")
def probe():
    """Install the probe for a module of tests; no judging process outlives the module."""
    end_child()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PROBE)
        catalogue.clear_caches()
        yield
    catalogue.clear_caches()
    end_child()
