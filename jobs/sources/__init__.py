"""Where records and lines come from: each source gives rows for the same bronze tables."""
