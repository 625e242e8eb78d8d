"""Inputs that no broker writes: mutated files and files that are large when they are read.

__main__   runs the campaigns: `python -m tools.fuzz mutate|read|rotate|large`
corpus     small inputs cut from real files: logs, segments, dumps, traces
mutations  changes of an input
outside    mutations from a folder of Python files
log_mutations  what loggers, terminals, agents and people change in a log
campaign   many mutated inputs through whole runs; counts must add up
reading    mutated logs through the readers alone; no line may be lost
rotations  copies and rolled parts of mutated logs through runs; no line may be read twice
large      inputs that are large, or become large
bounded    a run per large input, with its peak memory
"""
