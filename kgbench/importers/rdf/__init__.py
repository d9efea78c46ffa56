# SPDX-License-Identifier: Apache-2.0
"""Result sets of other kgbench stores: fetched, parsed, sorted, checked, and loaded."""
