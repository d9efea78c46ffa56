# SPDX-License-Identifier: Apache-2.0
"""What follows from small ontologies by the rules of OWL 2 RL."""
