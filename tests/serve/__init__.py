# SPDX-License-Identifier: Apache-2.0
"""Tests of the server; they use only the loopback interface."""
