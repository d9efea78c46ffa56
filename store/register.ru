# Numbers the write that registers a graph; sent again, it changes nothing.
INSERT DATA { GRAPH <$catalogue> { <$graph> <https://w3id.org/kgbench/ns#registrationNumber> $number } }
