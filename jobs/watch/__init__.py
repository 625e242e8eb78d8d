"""`regroup watch`: the nightly run, the alerts and the page in a loop over what is new.

passes       the loop: what is new, its tables, alerts, metrics and page
read_files   which input files changed since they were read
replacement  replaces the process, with the state of the loop
"""
