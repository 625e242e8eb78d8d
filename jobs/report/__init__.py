"""A lake as something to look at: one page that opens offline, a trace, one rebalance's sequence.

reads   generations, generation_members, assignments, churn, rebalance_latency, rebalance_causes,
        timeline; what_if, advice and process_lives where the lake has them
writes  files of the user's choice
"""
