# SPDX-License-Identifier: Apache-2.0
"""Judging on a Dask cluster, whose workers have kgbench installed."""
