"""The manual: docs/ as a site, built by MkDocs (`make docs`).

folder   writes a folder of generated pages
"""
