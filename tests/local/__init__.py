# SPDX-License-Identifier: Apache-2.0
"""Tests of models that run on this machine."""
