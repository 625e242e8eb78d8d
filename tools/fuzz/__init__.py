"""Inputs that no broker writes: mutated files and files that are large when they are read.

__main__   runs both campaigns: `python -m tools.fuzz mutate|large`
corpus     small inputs cut from real files: logs, segments, dumps, traces
mutations  changes of an input
campaign   many mutated inputs through whole runs; counts must add up
large      inputs that are large, or become large
bounded    a run per large input, with its peak memory
"""
