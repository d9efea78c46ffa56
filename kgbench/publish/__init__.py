# SPDX-License-Identifier: Apache-2.0
"""Publication of a result set as a static Linked Data site: what ``kgbench publish`` writes."""
