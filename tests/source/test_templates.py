"""How message expressions become templates."""

from __future__ import annotations

import ast

import pytest

from triage.source.templates import MAX_ALTERNATIVES, alternatives, render


def _read(expression: str, **env: str) -> list[str]:
    texts = {name: ((text,),) for name, text in env.items()}
    return [render(parts) for parts in alternatives(ast.parse(expression, mode="eval").body, texts)]


@pytest.mark.parametrize(
    ("expression", "template"),
    [
        ("'a ' 'b'", "a b"),
        ("f'a {self.x} ' 'b'", "a {self.x} b"),
        ("f'{x!r} {y:.2f} {z=}'", "{x!r} {y:.2f} z={z!r}"),
        ("f'{{x}} {y}'", "{{x}} {y}"),
        ("'got %s of %d, %.2f%%' % (a.b, len(c), d)", "got {a.b} of {len(c)}, {d:.2f}%"),
        ("'only %r' % x", "only {x!r}"),
        ("'%(a)s and %(b)s' % {'a': x, 'b': y}", "{x} and {y}"),
        ("'{} of {n}, {0.name!r}'.format(a, n=b)", "{a} of {b}, {a.name!r}"),
        ("'a ' + name + ' b'", "a {name} b"),
        ("', '.join(names)", "{', '.join(names)}"),
        ("' '.join(['one', f'{x} two'])", "one {x} two"),
        ("textwrap.dedent('a ') + 'b'", "a b"),
        ("(' a ').strip()", "a"),
        ("str(error)", "{str(error)}"),
        ("error", "{error}"),
        ("5", "{5}"),
        ("f'have {[k for k in d]}'", "have {[k for k in d]}"),
    ],
)
def test_every_way_of_writing_a_message_gives_the_same_kind_of_template(expression: str, template: str) -> None:
    """Literals keep their text with braces doubled, holes their source expression."""
    assert _read(expression) == [template]


def test_branches_give_a_template_each() -> None:
    """A conditional expression is read both ways, and a part that may be missing is left out in one of them."""
    assert _read("'a' + (' b' if c else ' d')") == ["a b", "a d"]
    assert _read("'none' if c else ''") == ["none", ""]
    assert _read("'a' + (' b' if c else '')") == ["a b", "a"]


def test_a_known_variable_is_filled_in() -> None:
    """A variable that holds a text stands for it, in a sum as in an f-string; with a conversion it stays a hole."""
    assert _read("f'{msg} again'", msg="once") == ["once again"]
    assert _read("msg + ' again'", msg="once") == ["once again"]
    assert _read("f'{msg!r} again'", msg="once") == ["{msg!r} again"]


def test_too_many_branches_become_a_hole() -> None:
    """The number of readings stays bounded however many branches an expression has."""
    sums = " + ".join(f"('a{i}' if c else 'b{i}')" for i in range(12))
    assert len(_read(sums)) <= MAX_ALTERNATIVES
