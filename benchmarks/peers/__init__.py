"""Other tool-retrieval libraries on the same data, the same machine and the same encoder.

Each peer runs in a process of its own, in the environment that `make bench-peers` builds. `python -m benchmarks.peers`
starts them, scores what they return with `toolsearch.eval` and writes results in the form of every other benchmark.
"""
