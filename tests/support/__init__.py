# SPDX-License-Identifier: Apache-2.0
"""What tests share: stores, runs, publications, servers, data."""
