# SPDX-License-Identifier: Apache-2.0
"""Tests of the plug-ins, and of the way they are found."""
