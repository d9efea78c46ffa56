# SPDX-License-Identifier: Apache-2.0
"""The documentation: its pages, and the programs that make its reference."""
