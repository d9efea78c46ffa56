# Renews the lease of a store for its holder; does nothing where it is another's, or has a later end.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
DELETE { GRAPH <$graph> { <$lease> kgb:leaseUntil ?until } }
INSERT { GRAPH <$graph> { <$lease> kgb:leaseUntil $until } }
WHERE  { GRAPH <$graph> { <$lease> kgb:leaseToken $token ; kgb:leaseUntil ?until } FILTER (?until < $until) }
