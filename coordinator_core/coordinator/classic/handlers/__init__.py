"""One module a request: check it, classify it, and the reactions that the grid picks from."""
