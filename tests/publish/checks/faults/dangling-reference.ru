# SPDX-License-Identifier: Apache-2.0
# constraint: undescribed
# node: *
BASE <https://w3id.org/example/bench/>

DELETE WHERE { GRAPH ?g { <https://w3id.org/kgbench/case/kgbench-1/Spell/case/wefe1d3180ae2> ?p ?o } }
