# Says that a store has another layout version; follows a migration in the same request.
DELETE { GRAPH <$catalogue> { <https://w3id.org/kgbench/layout> <https://w3id.org/kgbench/ns#layoutVersion> ?version } }
INSERT { GRAPH <$catalogue> { <https://w3id.org/kgbench/layout> <https://w3id.org/kgbench/ns#layoutVersion> $version } }
WHERE  { GRAPH <$catalogue> { <https://w3id.org/kgbench/layout> <https://w3id.org/kgbench/ns#layoutVersion> ?version } }
