# Removes marks of evaluations that are counted by now. Repeated, it changes nothing.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
DELETE { GRAPH <$graph> { ?list kgb:toCount ?evaluation } }
WHERE  { GRAPH <$graph> { ?list a kgb:CountedList . ?list kgb:toCount ?evaluation } }
