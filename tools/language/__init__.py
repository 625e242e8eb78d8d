"""Words that the project does not use: `make lint` fails where one stands.

words.toml has the list; prose.py finds the project's texts and names.
"""
