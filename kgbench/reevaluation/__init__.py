# SPDX-License-Identifier: Apache-2.0
"""Re-evaluation of stored dialogues, and explanation of differing verdicts."""
