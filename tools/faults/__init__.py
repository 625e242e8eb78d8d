"""Fault tests: killed processes, full disks, damaged inputs and damaged lakes, and their effect.

__main__  runs all kinds of faults and counts the results
runs      faults during a run: killed processes, full disks
inputs    damaged segments and broker logs
lakes     damaged tables
watching  `regroup watch` under faults for an hour, a campaign of its own
"""
