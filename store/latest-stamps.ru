# Leaves each registered graph its latest change stamp only.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
DELETE { GRAPH <$catalogue> { ?graph kgb:changeStamp ?old } }
WHERE  { GRAPH <$catalogue> { ?graph kgb:changeStamp ?old , ?later FILTER (?old < ?later) } }
