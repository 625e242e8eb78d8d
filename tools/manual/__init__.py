"""The manual: docs/ as a site, which MkDocs builds (`make docs`); mkdocs.yml has its settings.

folder    writes and reads folders of generated pages
site      MkDocs calls it: lists folders in the navigation, adds pages, maps links, draws diagrams
diagrams  Mermaid diagrams as HTML tables, so that the site needs no script from elsewhere
"""
