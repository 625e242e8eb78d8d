"""The project's texts: comments, docstrings, messages and documentation, with file and line."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterator
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
_SENTENCE_END = re.compile(
    r"""(?<=[.!?:;])\s+(?=[A-Z`])
    | \n\s*\n                          # a paragraph
    | \n\s*(?=[-*|\#]\s | \d+\.\s)    # an entry of a list, a row of a table, a heading""",
    re.VERBOSE,
)


MESSAGE, DOCUMENTATION, DOCSTRING, COMMENT, SQL = "message", "doc", "docstring", "comment", "sql"
# Line, kind and words of a passage within its file.
Passage = tuple[int, str, str]


class Text(NamedTuple):
    """One passage: ``path`` relative to the repository, first ``line``, the words and their kind.

    A MESSAGE is any string of several words in Python that is no docstring.
    """

    path: str
    line: int
    words: str
    kind: str = DOCUMENTATION


def project_texts() -> Iterator[Text]:
    """Every text of the tracked files, in the order of paths and lines."""
    for path in sorted(_tracked_files()):
        if not path.startswith(EXCLUDED) and _reader(path):
            for line, kind, words in passages(path, (ROOT / path).read_text(encoding="utf-8")):
                yield Text(path, line, words, kind)


def passages(path: str, content: str) -> list[Passage]:
    """The passages of a file's content that have words; none of a file of another format."""
    read = _reader(path)
    return [passage for passage in read(content) if passage[2].strip()] if read else []


def _reader(path: str) -> Callable[[str], Iterator[Passage]] | None:
    return _READERS.get(Path(path).suffix or Path(path).name)


def sentences(text: Text) -> Iterator[Text]:
    """The passage's sentences, each at the passage's line."""
    for sentence in _SENTENCE_END.split(text.words):
        words = " ".join(sentence.split())
        if len(words.split()) > FEWEST_WORDS:
            yield text._replace(words=words)


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


def _python(content: str) -> Iterator[Passage]:
    """Comments, consecutive ones as one passage, docstrings, and strings of several words."""
    yield from _python_comments(content)
    tree = ast.parse(content)
    docstrings = {id(node) for node in _docstrings(tree)}
    templates = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in templates for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        text = _string(node)
        if len(text.split()) >= FEWEST_WORDS:
            yield node.lineno, DOCSTRING if id(node) in docstrings else MESSAGE, text


def _string(node: ast.AST) -> str:
    """The text of a string, where an f-string has its expressions in braces; else empty."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_string, values))
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case _:
            return ""


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            assert isinstance(node.body[0], ast.Expr)
            yield node.body[0].value


def _python_comments(content: str) -> Iterator[Passage]:
    """Comments on lines of their own join; a comment after code is a passage by itself."""
    comment: list[str] = []
    start = last = 0
    follows_previous_code = False
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        follows_code = bool(token.line[:column].strip())
        if comment and (line != last + 1 or follows_code or follows_previous_code):
            yield start, COMMENT, " ".join(comment)
            comment = []
        start = start if comment else line
        comment.append(token.string.lstrip("#! "))
        last, follows_previous_code = line, follows_code
    if comment:
        yield start, COMMENT, " ".join(comment)


def _markdown(content: str) -> Iterator[Passage]:
    """Paragraphs outside code blocks."""
    prose = _FENCED.sub(lambda block: "\n" * block[0].count("\n"), content)
    line = 1
    for paragraph in prose.split("\n\n"):
        first = line + len(paragraph) - len(paragraph.lstrip("\n"))
        yield first, DOCUMENTATION, paragraph
        line += paragraph.count("\n") + 2


def _by_line(pattern: re.Pattern[str], kind: str) -> Callable[[str], Iterator[Passage]]:
    def read(content: str) -> Iterator[Passage]:
        for number, line in enumerate(content.splitlines(), 1):
            for groups in pattern.findall(line):
                yield number, kind, groups if isinstance(groups, str) else " ".join(groups)

    return read


_READERS = {
    ".py": _python,
    ".md": _markdown,
    ".sql": _by_line(_SQL_TEXT, SQL),
    ".toml": _by_line(_HASH_COMMENT, COMMENT),
    ".js": _by_line(_JS_COMMENT, COMMENT),
    "Makefile": _by_line(_HASH_COMMENT, COMMENT),
}
