"""`regroup serve`: the page, live, over a lake of any size; read-only.

The page is the page of `regroup report`, with the same scripts.  A file has its data inside; the
served page asks for the data of the view that the reader opens, as JSON.

An answer is of one version of the lake: of the newest commits of its tables when they were last
looked for (``--every``).  Rows of groups, a row each, are in memory.  Everything about one group is
read from the lake when a reader opens the group.

reads   the tables of `regroup report`; for SQL, the tables that the statement names
writes  nothing; large sorts use a temporary folder

command    options; starts the server, until Ctrl-C
app        addresses, access, headers; slow_clients: closes connections that wait too long
endpoints  the views: names, parameters, their description as OpenAPI
answers    the views as JSON; statements: SQL of readers, in a process of its own
live       the lake's present version; summary: the groups of a cluster in memory
memory     less memory for processes with many threads
"""
