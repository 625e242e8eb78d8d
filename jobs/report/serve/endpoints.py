"""The views as addresses below /api: their parameters, and their description as OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jobs import __version__
from jobs.console.errors import UsageError
from jobs.report.serve.answers import MOST_ROWS, Answers
from jobs.report.serve.live import LiveLake

Json = dict[str, Any]

_MOST_CHARACTERS = 20_000  # of a value


class Parameter(NamedTuple):
    """``kind`` is string, integer, boolean, or strings for a parameter that may be repeated."""

    name: str
    kind: str
    about: str
    default: Any = None
    is_required: bool = False


class Endpoint(NamedTuple):
    """``answer`` gets the value of each parameter by name."""

    name: str
    about: str
    answer: Callable[[Answers, Json], Any]
    parameters: tuple[Parameter, ...] = ()


_CLUSTER = Parameter("cluster", "string", "Name of the cluster; default: the lake's first.")
_GROUP = Parameter("group", "string", "The group's id.", is_required=True)
_FROM = Parameter("from", "string", "Only generations that end at or after this UTC time or date.")
_TO = Parameter("to", "string", "Only generations that begin by this UTC time or date.")
_SEARCH = Parameter(
    "search", "string", "Words in names, kinds of episodes, assignors or types.", ""
)
_SORT = Parameter("sort", "string", "Column to sort by.", "not_stable_ms")
_ASCENDING = Parameter("ascending", "boolean", "Smallest first.", False)
_OF_FOLD = Parameter("of_fold", "integer", "Only the groups of a folded row; give the row's key.")
_ONLY = Parameter("group", "strings", "Only these groups; default: all.", ())
_LIMIT = Parameter("limit", "integer", f"Number of rows in the response, at most {MOST_ROWS}.", 100)
_OFFSET = Parameter("offset", "integer", "Rows to skip.", 0)
_ANY_GROUP = Parameter("group", "string", "Only this group; default: all.")
_OF_LIST = (_CLUSTER, _ANY_GROUP, _SEARCH, _FROM, _TO, _LIMIT, _OFFSET)

ENDPOINTS = (
    Endpoint("status", "Version of the lake, its clusters, and versions of its tables.",
             Answers.status),
    Endpoint("overview", "Totals, causes over time, findings, episodes and advice of a cluster.",
             Answers.overview, (_CLUSTER,)),
    Endpoint("groups", "Groups of a cluster, one row per group; with fold, similar groups share "
                       "a row.", Answers.groups,
             (_CLUSTER, _SEARCH, _SORT, _ASCENDING,
              Parameter("fold", "boolean", "Show similar groups as one row.", False),
              _OF_FOLD, _ONLY, _LIMIT, _OFFSET)),
    Endpoint("timeline", "A group's generations, processes, causes, unowned partitions, episodes,"
             " what-if and advice; times since base_ms.", Answers.timeline,
             (_CLUSTER, _GROUP, _FROM, _TO)),
    Endpoint("findings", "Known defects, wrong settings and failures by name; highest confidence "
                         "first.",
             Answers.findings, _OF_LIST),
    Endpoint("episodes", "Root causes; highest cost first.", Answers.episodes, _OF_LIST),
    Endpoint("advice", "Settings to change; largest saving first.", Answers.advice, _OF_LIST),
    Endpoint("compare", "Figures, causes and episodes of two groups or of two periods; without a "
                        "group, of all groups.", Answers.compare,
             (_CLUSTER, _ANY_GROUP, _FROM, _TO,
              _ANY_GROUP._replace(name="other_group"), _FROM._replace(name="other_from"),
              _TO._replace(name="other_to"))),
    Endpoint("plans", "Ways to deploy a group, predicted and ranked; takes seconds to minutes.",
             Answers.plans, (_CLUSTER, _GROUP)),
    Endpoint("questions", "Views that answer common questions, as SQL.", Answers.questions),
    Endpoint("sql", "Rows of one SELECT over the tables and views; time and rows are limited.",
             Answers.sql,
             (Parameter("query", "string", "The statement.", is_required=True),)),
)  # fmt: skip
EXPORT = Endpoint("export", "A page for offline use, of at most 100 groups.", Answers.exported,
                  (_CLUSTER, _SEARCH, _SORT, _ASCENDING, _OF_FOLD, _ONLY, _OFFSET, _FROM, _TO),
                  )  # fmt: skip


def parsed(parameters: Sequence[Parameter], texts_by_name: Sequence[tuple[str, str]]) -> Json:
    """The value of each parameter; raises UsageError for an unknown, missing or invalid
    parameter.
    """
    by_name = {each.name: each for each in parameters}
    for name, text in texts_by_name:
        if name not in by_name:
            raise UsageError(f"{name}: no such parameter; give {', '.join(by_name) or 'none'}")
        if len(text) > _MOST_CHARACTERS:
            raise UsageError(f"{name}: longer than {_MOST_CHARACTERS:,} characters")
    values = {}
    for each in parameters:
        texts = [text for name, text in texts_by_name if name == each.name]
        if each.is_required and not any(texts):
            raise UsageError(f"{each.name}: give a value")
        if len(texts) > 1 and each.kind != "strings":
            raise UsageError(f"{each.name}: given more than once")
        values[each.name] = _value(each, texts) if texts else each.default
    return values


def _value(parameter: Parameter, texts: list[str]) -> Any:
    if parameter.kind == "strings":
        return tuple(texts)
    (text,) = texts
    if parameter.kind == "boolean":
        if text not in ("true", "false"):
            raise UsageError(f"{parameter.name} {text}: give true or false")
        return text == "true"
    if parameter.kind == "integer":
        if not text.isascii() or not text.isdigit() or len(text) > 12:
            raise UsageError(f"{parameter.name} {text}: give a whole number")
        return min(int(text), MOST_ROWS) if parameter.name == "limit" else int(text)
    return text


def answer_of(root: str, name: str, parameters: Mapping[str, Any]) -> Json:
    """The answer of a view from the lake's present version.  Raises UsageError for an unknown
    view.
    """
    endpoint = next((each for each in ENDPOINTS if each.name == name), None)
    if endpoint is None:
        raise UsageError(f"{name}: no such view; give {', '.join(e.name for e in ENDPOINTS)}")
    texts_by_name = [
        (key, _text(each)) for key, value in parameters.items() for each in _values(value)
    ]
    lake = LiveLake(root)
    try:
        answer: Json = endpoint.answer(Answers(lake), parsed(endpoint.parameters, texts_by_name))
    finally:
        lake.close()
    return answer


def _values(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def openapi() -> Json:
    """The description of all addresses, OpenAPI 3.1."""
    paths = {f"/api/{each.name}": _path(each, "application/json") for each in ENDPOINTS}
    paths[f"/{EXPORT.name}"] = _path(EXPORT, "text/html")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Regroup",
            "version": __version__,
            "description": "Rebalances of consumer groups, read-only. Durations are in ms; times "
            "are ms since 1970 in UTC. A table is a JSON object with columns and "
            "rows.",
        },
        "paths": paths,
    }


def _path(endpoint: Endpoint, media: str) -> Json:
    error = {"application/json": {"schema": {"type": "object", "required": ["error"], "properties":
             {"error": {"type": "string"}}}}}  # fmt: skip
    schema = {"type": "object" if media == "application/json" else "string"}
    return {
        "get": {
            "operationId": endpoint.name,
            "summary": endpoint.about,
            "parameters": [_described(each) for each in endpoint.parameters],
            "responses": {
                "200": {"description": endpoint.about, "content": {media: {"schema": schema}}},
                "400": {"description": "Wrong parameter, cluster or group.", "content": error},
            },
        }
    }


def _described(parameter: Parameter) -> Json:
    schema: Json = {"type": parameter.kind}
    if parameter.kind == "strings":
        schema = {"type": "array", "items": {"type": "string"}}
    if parameter.default not in (None, ()):
        schema["default"] = parameter.default
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "description": parameter.about,
        "schema": schema,
    }
