# SPDX-License-Identifier: Apache-2.0
"""The one reading of scores: which count, what they are called, and their values."""
