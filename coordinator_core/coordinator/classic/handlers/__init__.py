"""One module per request: its checks, its classification, and the reactions that the grid names."""
