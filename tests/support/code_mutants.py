# SPDX-License-Identifier: Apache-2.0
"""Small changes of functions, which can be turned on one at a time while the program runs.

:func:`found` lists the changes that can be made to a module. :func:`woven` returns the source of
the module with several of them: ``a < b`` becomes ``((a <= b) if __m__(3) else (a < b))``. The
switch ``__m__`` (:func:`switch`) reads from a file that processes share whether a mutant is on, and
notes there that its place was reached. So one set of files serves all mutants, in child processes
too, and without any mutant it shows which tests reach which ones.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)
_Operation = TypeVar("_Operation", bound=ast.BinOp | ast.BoolOp | ast.AugAssign)

MODULE = "mutant_switch"
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
#: Comparisons whose swap is the same as a negation.
OPPOSITE = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Mutant(NamedTuple):
    """A change of the bytes from ``start`` to ``end`` of a file.

    If it changes the default value of ``parameter``, ``entry`` is the first byte of the body of the
    function.
    """

    path: str
    line: int
    function: str
    was: str
    becomes: str
    start: int
    end: int
    kind: str = "expression"
    entry: int = 0
    parameter: str = ""


def found(source: str, path: str = "") -> list[Mutant]:
    r"""Return the mutants of the functions of a module, in the order of their places.

    >>> for mutant in found("def f(x):\n    return x + 1"):
    ...     print(mutant.was, "->", mutant.becomes)
    x + 1 -> x - 1
    x + 1 -> None
    1 -> 2
    """
    finder = _Finder(source, path)
    finder.visit(ast.parse(source))
    return sorted(finder.mutants, key=lambda mutant: (mutant.start, -mutant.end, mutant.becomes))


def woven(source: str, mutants: Mapping[int, Mutant]) -> str:
    """Return ``source`` with mutants, by number, that are off until they are turned on."""
    data = source.encode()
    first = next(n for n in ast.parse(source).body if not _stays_first(n))
    header = f"from kgbench.{MODULE} import chosen as __m__\n"
    # Where several texts go to one place, the innermost parts end first and begin last.
    texts: list[tuple[int, int, int, int, str]] = [(_start(first, data), 1, 0, 0, header)]
    for number, (_, _, _, _, becomes, start, end, kind, entry, _) in mutants.items():
        length, indent = end - start, _indent(data, start)
        if kind == "statement":
            text = f"if __m__({number}): {becomes}\n{indent}else: "
            texts.append((start, 2, 0, number, text))
            continue
        if kind == "default":
            text = f"__m__({number})\n{_indent(data, entry)}"
            texts.append((entry, 1, 0, number, text))
        test = f"__m__({number}, 0)" if kind == "default" else f"__m__({number})"
        texts.append((start, 3, -length, number, f"(({becomes}) if {test} else ("))
        texts.append((end, 0, length, -number, "))"))
    for place, *_, text in sorted(texts, reverse=True):
        data = data[:place] + text.encode() + data[place:]
    return data.decode()


def switch(memory: Path, count: int) -> str:
    """Return the source of the module with the switch of ``count`` mutants.

    A byte of the file ``memory`` is 1 for each mutant that is on; behind them, a byte is 1 for each
    mutant whose place was reached.
    """
    return f"""import mmap
try:
    with open({str(memory)!r}, "r+b") as file:
        _memory = mmap.mmap(file.fileno(), 0)
except OSError:  # in a process that may open nothing
    _memory = bytearray({2 * count})

def chosen(number, reached=1):
    _memory[number + {count}] |= reached
    return _memory[number]
"""


def set_default(mutant: Mutant, root: Path) -> None:
    """Give functions of the tree at ``root`` that exist already the default value of a mutant."""
    if mutant.kind != "default":
        return
    gc.unfreeze()
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        code = function.__code__
        if (code.co_filename, code.co_qualname) != (str(root / mutant.path), mutant.function):
            continue
        value = eval(mutant.becomes, function.__globals__)
        named = function.__kwdefaults__ or {}
        if mutant.parameter in named:
            named[mutant.parameter] = value
        elif function.__defaults__:
            defaults = list(function.__defaults__)
            place = code.co_varnames.index(mutant.parameter) - code.co_argcount
            defaults[place] = value
            function.__defaults__ = tuple(defaults)


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str, path: str) -> None:
        self.data, self.path = source.encode(), path
        self.names: list[str] = []
        self.depth = 0  # of functions
        self.mutants: list[Mutant] = []

    def add(self, node: ast.expr | ast.stmt, becomes: str, kind: str, *more: Any) -> None:
        if not self.depth:
            return
        start, end = _start(node, self.data), _end(node, self.data)
        was = ast.unparse(node)
        if kind != "statement" or not _indent(self.data, start).strip():
            function = ".".join(self.names)
            place = (self.path, node.lineno, function)
            self.mutants.append(Mutant(*place, was, becomes, start, end, kind, *more))

    def replace(self, node: ast.expr, *others: ast.expr) -> None:
        for other in others:
            self.add(node, ast.unparse(other), "expression")

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr):
            self.replace(node, *_replacements(node))
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            self.replace(node.test, *_negations(node.test))
        super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.names.append(node.name)
        self.depth += 1
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        entry = _start(body[0], self.data) if body else 0
        if body and not _indent(self.data, entry).strip():
            for parameter, default in _defaults(node.args):
                for other in (*_replacements(default), *_texts(default)):
                    self.add(default, ast.unparse(other), "default", entry, parameter)
        for statement in body:
            self.visit(statement)
        self.depth -= 1
        self.names.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.names.pop()

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            if ast.unparse(node.value) not in ("None", "False"):  # most callers take one for other
                self.replace(node.value, ast.Constant(None))
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        called = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(called, ast.Call):
            self.replace(node.value, ast.Constant(None))
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.add(node, "continue", "statement")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.add(node, "break", "statement")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in SWAPS:
            self.add(node, ast.unparse(_swapped(node)), "statement")
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for side in (node.left, *node.comparators):
            self.replace(side, *_texts(side))
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key in filter(None, node.keys):
            self.replace(key, *_texts(key))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.replace(node.slice, *_texts(node.slice))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.replace(test, *_negations(test))
        self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        for part in (*filter(None, [node.guard]), *node.body):
            self.visit(part)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave formatted texts as they are: they are messages, and Python 3.11 misplaces parts."""


def _defaults(of: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    positional = [*of.posonlyargs, *of.args]
    both = [*zip(reversed(positional), reversed(of.defaults), strict=False)]
    for argument, default in (*reversed(both), *zip(of.kwonlyargs, of.kw_defaults, strict=True)):
        if default is not None:
            yield argument.arg, default


def _replacements(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield _with(node, ops=[*ops[:i], SWAPS[type(op)](), *ops[i + 1 :]])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            yield _swapped(node)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)


def _texts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        more = "XX" if isinstance(node.value, str) else b"XX"
        yield ast.Constant(more + node.value)  # type: ignore[operator]


def _negations(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.Compare(ops=[op]) if isinstance(op, OPPOSITE):
            return
        case ast.UnaryOp(op=ast.Not()) | ast.Constant():
            return
    yield ast.UnaryOp(ast.Not(), test)


def _swapped(node: _Operation) -> _Operation:
    return _with(node, op=SWAPS[type(node.op)]())


def _with(node: _Node, **fields: object) -> _Node:
    return type(node)(**dict(ast.iter_fields(node)) | fields)


def _stays_first(node: ast.stmt) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _start(node: ast.expr | ast.stmt, data: bytes) -> int:
    decorators: Iterable[ast.expr] = getattr(node, "decorator_list", ())
    line = min((node.lineno, *(decorator.lineno for decorator in decorators)))
    return _offset(data, line, node.col_offset)


def _end(node: ast.expr | ast.stmt, data: bytes) -> int:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return _offset(data, node.end_lineno, node.end_col_offset)


def _offset(data: bytes, line: int, column: int) -> int:
    return sum(map(len, data.split(b"\n")[: line - 1])) + line - 1 + column


def _indent(data: bytes, place: int) -> str:
    return data[data.rfind(b"\n", 0, place) + 1 : place].decode()
