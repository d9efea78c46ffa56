# SPDX-License-Identifier: Apache-2.0
"""Programs for releases: licences and bill of materials. The package does not include them."""
