# SPDX-License-Identifier: Apache-2.0
"""Exports of runs in the formats of other communities."""
