# SPDX-License-Identifier: Apache-2.0
"""The probe is there for every test of judging."""

import pytest

from kgbench.execution.judging import end_child
from kgbench.tasks import catalogue
from tests.judging.probing import PROBE


@pytest.fixture(autouse=True, scope="module")
def probe():
    """The probe is an installed package while the tests below run, and no child outlives them."""
    end_child()
    catalogue.task_classes()  # looked for now and kept, so that this process never finds the probe
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PROBE)
        yield
    end_child()
