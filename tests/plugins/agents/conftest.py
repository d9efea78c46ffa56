# SPDX-License-Identifier: Apache-2.0
"""The store of the tests of the server."""

from tests.serve.conftest import result_store

__all__ = ["result_store"]
