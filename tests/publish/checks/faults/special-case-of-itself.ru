# SPDX-License-Identifier: Apache-2.0
# constraint: special-case-of-itself
# node: https://w3id.org/kgbench/model/parrot-2-2026-01-01
PREFIX prov: <http://www.w3.org/ns/prov#>

INSERT DATA { GRAPH <https://w3id.org/example/bench/graph/catalogue> {
  <https://w3id.org/kgbench/model/parrot-2-2026-01-01> prov:specializationOf <https://w3id.org/kgbench/model/Parrot-d808ae23>
} }
