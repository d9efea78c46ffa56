# The content of one write to a server, as GRAPH blocks of N-Triples. The updates of store/stamp.ru
# follow in the same request. Once more is as once: nothing in it is blank.
INSERT DATA { $content }
