"""What mypyc compiles wrongly is not written in the modules that the wheel has compiled."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["regroup"]


def test_no_lambda_takes_any_number_of_arguments():
    """mypyc 2 takes the type of such an argument from where the lambda goes: the C code does not
    compile."""
    paths = {path for pattern in SETTINGS["compiled"] for path in ROOT.glob(pattern)}

    lambdas = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(paths)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Lambda) and (node.args.vararg or node.args.kwarg)
    ]

    assert len(paths) > 60
    assert lambdas == []
