"""The manual: diagrams as tables, navigation with folders, links to files outside of docs/."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.manual import site
from tools.manual.diagrams import without_mermaid

ROOT = Path(__file__).parents[2]

DIAGRAM = """\
Before.

```mermaid
sequenceDiagram
    participant p0 as a
    participant p1 as b
    participant p2 as coordinator
    p0->>p2: 1 s JoinGroup #lt;a#gt;
    Note over p2: 1 s Stable
    Note over p0,p2: 2 s later
    p2-->>p1: 3 s answer
```

After.
"""


def _rows(html):
    return [
        re.findall(r"<td(?: class=\"(.*?)\")?>(.*?)</td>", row)
        for row in re.findall(r"<tr>(<td.*?)</tr>", html)
    ]


def page_of(path):
    return SimpleNamespace(file=SimpleNamespace(src_uri=path), meta={})


def test_the_glossary_counts_more_in_a_search_than_a_table():
    pages = [page_of(path) for path in ("glossary.md", "sql.md", "tables/churn.md")]

    for page in pages:
        site.on_page_markdown("", page)

    assert [page.meta["search"]["boost"] for page in pages] == [4, 1, 0.5]


def test_a_sequence_diagram_has_a_column_per_participant_and_a_row_per_message():
    html = without_mermaid(DIAGRAM)

    assert html.startswith("Before.\n\n<table")
    assert html.endswith("</table>\n\nAfter.\n")
    assert re.findall(r"<span>(\w+)</span>", html) == ["a", "b", "coordinator"]
    assert _rows(html) == [
        [("", "1 s"), ("life right", ""), ("life through", ""), ("life left head", ""),
         ("", "JoinGroup &lt;a&gt;")],
        [("", ""), ("life", ""), ("life", ""), ("life note", ""), ("", "Stable")],
        [("", ""), ("pause", ""), ("pause", ""), ("pause", ""), ("", "2 s later")],
        [("", "3 s"), ("life", ""), ("life right answer head", ""), ("life left answer", ""),
         ("", "answer")],
    ]  # fmt: skip


def test_a_state_diagram_has_a_row_per_transition():
    html = without_mermaid("```mermaid\nstateDiagram-v2\n    [*] --> A\n    A --> B: joined\n```")

    assert _rows(html) == [
        [("", ""), ("", "A"), ("", "")],
        [("", "A"), ("", "B"), ("", "joined")],
    ]


def test_a_diagram_that_cannot_be_drawn_stops_the_build():
    with pytest.raises(ValueError, match="cannot draw gantt"):
        without_mermaid("```mermaid\ngantt\n```")
    with pytest.raises(ValueError, match="no line of a sequence diagram: loop x"):
        without_mermaid("```mermaid\nsequenceDiagram\n    participant p0 as a\n    loop x\n```")


def test_links_to_files_that_are_not_on_the_site_become_their_paths():
    page = page_of("situations/README.md")

    def shown(markdown):
        return site.on_page_markdown(markdown, page)

    assert shown("[scenarios](../../examples/situations)") == "scenarios (`examples/situations`)"
    assert shown("[examples/situations](../../examples/situations)") == "`examples/situations`"
    assert shown("[how](../../CONTRIBUTING.md#code)") == "[how](../contributing.md#code)"
    assert shown("[SQL](../sql.md#x)") == "[SQL](../sql.md#x)"
    assert shown("[here](01-first-member.md)") == "[here](01-first-member.md)"


def test_output_in_sentences_wraps_and_a_table_does_not():
    page = page_of("x.md")
    sentence, row = "word " * 30 + "\n", "─" * 150 + "\n"

    assert site.on_page_markdown(f"```\n{sentence}```", page).startswith("```{ .text .wrap }\n")
    assert site.on_page_markdown(f"```\n{row}```", page) == f"```\n{row}```"
    assert site.on_page_markdown("```\nshort\n```", page) == "```\nshort\n```"


def test_a_folder_in_the_navigation_stands_for_its_pages(tmp_path):
    (tmp_path / "tables").mkdir()
    for name in ("b.md", "README.md", "a.md", "a.txt"):
        (tmp_path / "tables" / name).touch()

    nav = site._with_folders([{"Tables": "tables/"}, "sql.md"], tmp_path)

    assert nav == [{"Tables": ["tables/README.md", "tables/a.md", "tables/b.md"]}, "sql.md"]


def test_the_tutorial_quotes_what_the_script_did():
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    pattern, file, printed = re.search(r"grep -o '(.*)' (\S+)\n\n```\n(.*)\n```", page).groups()

    lines = (ROOT / file).read_text(encoding="utf-8")

    assert re.findall(pattern.replace("[^}]", "[^}\n]"), lines) == [printed]
