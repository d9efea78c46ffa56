# SPDX-License-Identifier: Apache-2.0
"""Import of result sets that other kgbench stores published.

The modules follow the data: :mod:`sources`, :mod:`parsing`, :mod:`contents`, :mod:`sorting`,
:mod:`checks`, :mod:`loading`.
"""
