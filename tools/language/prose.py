"""The project's texts: comments, docstrings, messages and documentation, with file and line."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
# Recorded data, Kafka's own wordings and the list of ruled-out words itself.
EXCLUDED = ("tests/data/", "examples/mixed-clients", "schemas/log_lines/", "tools/language/")
FEWEST_WORDS = 3  # a shorter string is a name or a fragment of SQL
_FENCED = re.compile(r"^```.*?^```", re.M | re.S)
_HASH_COMMENT = re.compile(r"(?:^|\s)#\s*(.*)$")
_SQL_TEXT = re.compile(r"--\s*(.*)$|COMMENT '((?:[^']|'')*)'")
_JS_COMMENT = re.compile(r"//\s*(.*)$|/\*(.*?)\*/")
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`])|\n\s*\n")


class Text(NamedTuple):
    """One passage: ``path`` relative to the repository, first ``line``, and the words."""

    path: str
    line: int
    words: str


def project_texts() -> Iterator[Text]:
    """Every text of the tracked files, in the order of paths and lines."""
    for path in sorted(_tracked_files()):
        read = _READERS.get(Path(path).suffix or Path(path).name)
        if read and not path.startswith(EXCLUDED):
            content = (ROOT / path).read_text(encoding="utf-8")
            yield from (Text(path, line, words) for line, words in read(content) if words.strip())


def sentences(text: Text) -> Iterator[Text]:
    """The passage's sentences, each at the passage's line."""
    for sentence in _SENTENCE_END.split(text.words):
        words = " ".join(sentence.split())
        if len(words.split()) > FEWEST_WORDS:
            yield Text(text.path, text.line, words)


def bound_names(path: str) -> Iterator[tuple[int, str]]:
    """Names that a Python file assigns, takes as a parameter or defines, with their lines."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        match node:
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.arg():
                yield node.lineno, node.arg
            case ast.FunctionDef() | ast.ClassDef():
                yield node.lineno, node.name


def python_files() -> list[str]:
    return sorted(
        path
        for path in _tracked_files()
        if path.endswith(".py") and not path.startswith(EXCLUDED) and (ROOT / path).exists()
    )


def _tracked_files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if (ROOT / path).is_file()]


def _python(content: str) -> Iterator[tuple[int, str]]:
    """Comments, consecutive ones as one passage, and strings of several words."""
    comment: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        if line != last + 1 and comment:
            yield start, " ".join(comment)
            comment = []
        start = start if comment else line
        comment.append(token.string.lstrip("#! "))
        last = line
    if comment:
        yield start, " ".join(comment)
    for node in ast.walk(ast.parse(content)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if len(node.value.split()) >= FEWEST_WORDS:
            yield node.lineno, node.value


def _markdown(content: str) -> Iterator[tuple[int, str]]:
    """Paragraphs outside code blocks."""
    prose = _FENCED.sub(lambda block: "\n" * block[0].count("\n"), content)
    line = 1
    for paragraph in prose.split("\n\n"):
        yield line + len(paragraph) - len(paragraph.lstrip("\n")), paragraph
        line += paragraph.count("\n") + 2


def _by_line(pattern: re.Pattern[str], content: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(content.splitlines(), 1):
        for groups in pattern.findall(line):
            yield number, groups if isinstance(groups, str) else " ".join(groups)


_READERS = {
    ".py": _python,
    ".md": _markdown,
    ".sql": lambda content: _by_line(_SQL_TEXT, content),
    ".toml": lambda content: _by_line(_HASH_COMMENT, content),
    ".js": lambda content: _by_line(_JS_COMMENT, content),
    "Makefile": lambda content: _by_line(_HASH_COMMENT, content),
}
