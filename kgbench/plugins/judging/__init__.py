# SPDX-License-Identifier: Apache-2.0
"""Model judges and human reviews of stored dialogues, and their agreement."""
