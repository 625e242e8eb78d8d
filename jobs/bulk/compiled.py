"""Typed decorators for functions that numba compiles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from numba import njit
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

_njit: Any = njit  # numba's types lack the option _nrt.
_intrinsic: Any = intrinsic  # numba's types do not remove the typing context from the parameters.


def compiled(*signature: Any) -> Callable[[Function], Function]:
    """Compiles for one signature on import, and caches the machine code beside the source file.

    If no folder is writable, each process compiles the function itself.  ``_nrt=False`` leaves out
    reference counts, which would double the time of the walk.
    """

    def compile_now(function: Function) -> Function:
        dispatcher = _njit(_nrt=False)(function)
        with suppress(RuntimeError, OSError):  # No folder for the cache is writable.
            dispatcher.enable_caching()
            dispatcher.compile(signature)
        if not dispatcher.signatures:
            dispatcher = _njit(signature, _nrt=False)(function)
        dispatcher.disable_compile()
        result: Function = dispatcher
        return result

    return compile_now


def inlined(function: Function) -> Function:
    """Inlines the function into the compiled functions that call it."""
    result: Function = _njit(inline="always")(function)
    return result


def lowered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes an intrinsic of a function that returns its signature and its LLVM code."""
    result: Callable[..., Any] = _intrinsic(function)
    return result
