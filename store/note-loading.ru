# Notes that the holder of the lease begins to load a graph.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
INSERT { GRAPH <$graph> { <$lease> kgb:loading <$loading> } }
WHERE  { GRAPH <$graph> { <$lease> kgb:leaseToken $token } }
