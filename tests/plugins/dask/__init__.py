# SPDX-License-Identifier: Apache-2.0
"""Tests of judging on a Dask cluster."""
