# SPDX-License-Identifier: Apache-2.0
"""Pages on which people decide, by declared rubrics, about stored dialogues."""
