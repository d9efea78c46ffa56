# Removes marks of evaluations and dialogues that are counted by now. Repeated, it changes nothing.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
DELETE { GRAPH <$graph> { ?list kgb:toCount ?counted } }
WHERE  { GRAPH <$graph> { ?list a kgb:CountedList . ?list kgb:toCount ?counted } }
