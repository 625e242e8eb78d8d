"""Other SQL engines on one lake: their rows are compared with those of DuckDB (`regroup sql`).

``statements`` has what is asked, ``lake`` the lake that answers, ``rows`` the form in which rows
are compared.  Each engine is a module with ``answers(lake, work, statements)``: the rows by the
statement's name, or the reason why the engine has none.
"""
