# SPDX-License-Identifier: Apache-2.0
"""Task classes: their cases, prompts and judges, and the catalogue of all of them."""
