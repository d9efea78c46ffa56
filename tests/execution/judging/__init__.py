# SPDX-License-Identifier: Apache-2.0
"""Tests of judging processes: requests, attacks, limits and ends."""
