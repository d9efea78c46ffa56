# SPDX-License-Identifier: Apache-2.0
"""Tests of pages; they use only the loopback interface."""
