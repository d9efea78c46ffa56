# Marks a store on a server as unfinished, with the command that repeats the work.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
DELETE WHERE { GRAPH <$graph> { <$graph> kgb:unfinished ?command } } ;
INSERT DATA { GRAPH <$graph> { <$graph> kgb:unfinished $command } }
