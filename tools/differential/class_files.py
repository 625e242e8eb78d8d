"""Compiled classes of Java: the texts that they log, and their string constants (JVMS 4 and 6)."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR")
_LOGGER = "org/slf4j/Logger"
_LOGGER_TYPE = f"L{_LOGGER};"
# Number of bytes of a constant after its tag.
_SIZES = dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4) | dict.fromkeys((5, 6), 8)
_SIZES |= dict.fromkeys((7, 8, 16, 19, 20), 2) | {15: 3}
_UTF8, _STRING, _TAKE_TWO_PLACES = 1, 8, (5, 6)
# Number of bytes of operands by opcode; opcodes that are not listed have no operands.
_OPERANDS = (
    dict.fromkeys((0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC), 1)
    | dict.fromkeys((0x11, 0x13, 0x14, 0x84, *range(0x99, 0xA9), *range(0xB2, 0xB9)), 2)
    | dict.fromkeys((0xBB, 0xBD, 0xC0, 0xC1, 0xC6, 0xC7), 2)
    | {0xC5: 3}
    | dict.fromkeys((0xB9, 0xBA, 0xC8, 0xC9), 4)
)
_LDC, _LDC_W, _GETSTATIC, _GETFIELD = 0x12, 0x13, 0xB2, 0xB4
_ALOAD, _ALOAD_0, _ALOAD_3 = 0x19, 0x2A, 0x2D
_ASTORE, _ASTORE_0, _ASTORE_3 = 0x3A, 0x4B, 0x4E
_INVOKEVIRTUAL, _INVOKESTATIC, _INVOKEINTERFACE, _INVOKEDYNAMIC = 0xB6, 0xB8, 0xB9, 0xBA
_TABLESWITCH, _LOOKUPSWITCH, _WIDE, _IINC = 0xAA, 0xAB, 0xC4, 0x84
_STATIC = 0x0008
_PARAMETER = re.compile(r"\[*(?:L[^;]+;|[BCDFIJSZ])")
# Markers of a value and of a constant in a recipe of StringConcatFactory.
_VALUE, _CONSTANT = "\1", "\2"
_OF_FORMAT = re.compile(r"%[sdx]")


@dataclass(frozen=True)
class LogCall:
    """A call of a logger.

    ``logger``: simple name of the outermost class that owns the logger; None: a caller's logger.
    ``text``: with `{}` for each value, or None if the call has no constant text.
    """

    logger: str | None
    level: str
    text: str | None

    def stripped(self) -> LogCall:
        """Without spaces at the end, which readers of lines ignore."""
        return LogCall(self.logger, self.level, self.text and self.text.rstrip())


class _Method(NamedTuple):
    name: str
    descriptor: str
    is_static: bool
    code_at: int

    @property
    def loggers(self) -> set[int]:
        """The local variables of its parameters that are loggers."""
        place, places = 0 if self.is_static else 1, set()
        for parameter in _PARAMETER.findall(self.descriptor.partition(")")[0]):
            if parameter == _LOGGER_TYPE:
                places.add(place)
            place += 2 if parameter in ("J", "D") else 1
        return places


class ClassFile:
    """``name``: with slashes.  ``strings``: constants, with `{}` for values of concatenations."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._constants: dict[int, tuple[int, int]] = {}  # index -> tag, position
        index, at = 1, 10
        while index < self._u2(8):
            tag = data[at]
            self._constants[index] = (tag, at + 1)
            at += 1 + (2 + self._u2(at + 1) if tag == _UTF8 else _SIZES[tag])
            index += 2 if tag in _TAKE_TWO_PLACES else 1
        self.name = self._name(self._u2(at + 2))
        at += 8 + 2 * self._u2(at + 6)
        self._methods: list[_Method] = []
        at = self._members(self._members(at, []), self._methods)
        self._recipes = [
            self._recipe(arguments_at)
            for attribute, start in self._attributes(at)
            if attribute == "BootstrapMethods"
            for arguments_at in self._bootstraps(start)
        ]
        own = (self._string(index) for index in self._constants)
        self.strings = {each for each in (*own, *self._recipes) if each is not None}

    @property
    def simple_name(self) -> str:
        """Without its package, and without the names of inner classes."""
        return self.name.rsplit("/", 1)[-1].partition("$")[0]

    def log_calls(self) -> Iterator[LogCall]:
        is_given = any(
            _LOGGER_TYPE in each.descriptor for each in self._methods if each.name == "<init>"
        )
        for method in self._methods:
            logger = None if is_given or method.loggers else self.simple_name
            for level, text in self._logged(method):
                yield LogCall(logger, level, text)

    def _logged(self, method: _Method) -> Iterator[tuple[str, str | None]]:
        """The first text after each logger is the message: arguments follow it."""
        texts: list[str] = []
        is_format = is_new_logger = False
        loggers = method.loggers
        for opcode, at in self._instructions(method.code_at):
            if opcode in (_LDC, _LDC_W):
                text = self._string(self._data[at + 1] if opcode == _LDC else self._u2(at + 1))
                texts += [] if text is None else [text]
            elif opcode == _INVOKEDYNAMIC:
                recipe = self._recipes[self._u2(self._constants[self._u2(at + 1)][1])]
                texts += [] if recipe is None else [recipe]
            elif opcode == _INVOKESTATIC:
                is_format |= self._reference(at)[:2] == ("java/lang/String", "format")
            elif opcode == _ALOAD or _ALOAD_0 <= opcode <= _ALOAD_3:
                place = self._data[at + 1] if opcode == _ALOAD else opcode - _ALOAD_0
                if place in loggers:
                    texts, is_format = [], False
            elif opcode == _ASTORE or _ASTORE_0 <= opcode <= _ASTORE_3:
                place = self._data[at + 1] if opcode == _ASTORE else opcode - _ASTORE_0
                loggers = loggers | {place} if is_new_logger else loggers - {place}
            elif opcode in (_GETSTATIC, _GETFIELD):
                if self._reference(at)[2] == _LOGGER_TYPE:
                    texts, is_format = [], False
            elif opcode == _INVOKEVIRTUAL:
                is_new_logger = self._reference(at)[2].endswith(f"){_LOGGER_TYPE}")
                continue
            elif opcode == _INVOKEINTERFACE:
                owner, name, _ = self._reference(at)
                if owner == _LOGGER and name.upper() in LEVELS:
                    text = texts[0] if texts else None
                    yield name.upper(), _OF_FORMAT.sub("{}", text) if text and is_format else text
                    texts, is_format = [], False
            is_new_logger = False

    def _instructions(self, code_at: int) -> Iterator[tuple[int, int]]:
        """Opcodes and their positions."""
        start = code_at + 8
        at, end = start, start + self._s4(code_at + 4)
        while at < end:
            opcode = self._data[at]
            yield opcode, at
            aligned = at + 1 + (start - at - 1) % 4
            if opcode == _TABLESWITCH:
                at = aligned + 16 + 4 * (self._s4(aligned + 8) - self._s4(aligned + 4))
            elif opcode == _LOOKUPSWITCH:
                at = aligned + 8 + 8 * self._s4(aligned + 4)
            elif opcode == _WIDE:
                at += 6 if self._data[at + 1] == _IINC else 4
            else:
                at += 1 + _OPERANDS.get(opcode, 0)

    def _members(self, at: int, methods: list[_Method]) -> int:
        """Add the fields or methods with code; returns where they end."""
        count, at = self._u2(at), at + 2
        for _ in range(count):
            name, descriptor = self._utf8(self._u2(at + 2)), self._utf8(self._u2(at + 4))
            for attribute, start in self._attributes(at + 6):
                if attribute == "Code":
                    is_static = self._u2(at) & _STATIC != 0
                    methods.append(_Method(name, descriptor, is_static, start))
            at = self._end_of_attributes(at + 6)
        return at

    def _attributes(self, at: int) -> Iterator[tuple[str, int]]:
        """Names and where their contents begin."""
        count, at = self._u2(at), at + 2
        for _ in range(count):
            yield self._utf8(self._u2(at)), at + 6
            at += 6 + self._s4(at + 2)

    def _end_of_attributes(self, at: int) -> int:
        count, at = self._u2(at), at + 2
        for _ in range(count):
            at += 6 + self._s4(at + 2)
        return at

    def _bootstraps(self, at: int) -> Iterator[int]:
        """Where the arguments of each bootstrap method begin, with their number."""
        count, at = self._u2(at), at + 2
        for _ in range(count):
            yield at + 2
            at += 4 + 2 * self._u2(at + 2)

    def _recipe(self, at: int) -> str | None:
        """The text of a concatenation, or None for bootstrap methods without a text."""
        arguments = [self._string(self._u2(at + 2 + 2 * n)) for n in range(self._u2(at))]
        if not arguments or arguments[0] is None:
            return None
        text = arguments[0].replace(_VALUE, "{}")
        for constant in arguments[1:]:
            text = text.replace(_CONSTANT, constant or "{}", 1)
        return text

    def _reference(self, at: int) -> tuple[str, str, str]:
        """Class, name and type of an instruction's field or method."""
        position = self._constants[self._u2(at + 1)][1]
        name_and_type = self._constants[self._u2(position + 2)][1]
        of = self._utf8(self._u2(name_and_type)), self._utf8(self._u2(name_and_type + 2))
        return self._name(self._u2(position)), *of

    def _name(self, index: int) -> str:
        return self._utf8(self._u2(self._constants[index][1]))

    def _string(self, index: int) -> str | None:
        tag, position = self._constants[index]
        return self._utf8(self._u2(position)) if tag == _STRING else None

    def _utf8(self, index: int) -> str:
        position = self._constants[index][1]
        start, size = position + 2, self._u2(position)
        return self._data[start : start + size].decode("utf-8", "replace")

    def _u2(self, at: int) -> int:
        number: int = struct.unpack_from(">H", self._data, at)[0]
        return number

    def _s4(self, at: int) -> int:
        number: int = struct.unpack_from(">i", self._data, at)[0]
        return number


def classes_of(jar: Path) -> Iterator[ClassFile]:
    with zipfile.ZipFile(jar) as entries:
        for name in entries.namelist():
            if name.endswith(".class") and not name.endswith("-info.class"):
                yield ClassFile(entries.read(name))
