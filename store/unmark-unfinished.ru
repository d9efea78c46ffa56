# Removes the mark of an unfinished store on a server.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
DELETE WHERE { GRAPH <$graph> { <$graph> kgb:unfinished ?command } }
