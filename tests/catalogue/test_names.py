from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.catalogue.names import hole_name


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("max_num_seqs", "max_num_seqs"),
        ("self.scheduler_config.max_num_seqs", "max_num_seqs"),
        ("len(x)", "len_x"),
        ("len(self.layers)", "len_layers"),
        ("max(sizes)", "max_sizes"),
        ("str(path)", "path"),
        ("sorted(names)", "names"),
        ("list(self.names)", "names"),
        ("format_gib(available_memory)", "available_memory"),
        ("self.get_limit()", "get_limit"),
        ("x.item()", "x"),
        ("', '.join(names)", "names"),
        ("[n.lower() for n in names]", "names"),
        ("os.environ.get('HOME')", "HOME"),
        ("d['key']", "key"),
        ("shape[0]", "shape_0"),
        ("sizes[i]", "sizes"),
        ("x.__name__", "x"),
        ("type(x).__name__", "class_x"),
        ("type(self).__name__", "class_name"),
        ("self.__class__.__name__", "class_name"),
        ("free / GiB_bytes", "free"),
        ("total / 1024", "total"),
        ("a - b", "a_minus_b"),
        ("a or b", "a"),
        ("a if b else c", "a"),
        ("-x", "x"),
        ("(n := 3)", "n"),
        ("a == b", "a"),
        ("await x", "x"),
        ("", "value"),
        ("0", "value_0"),
        ("don't", "t"),
        ("'text'", "text"),
        ("self.class", "class_"),
    ],
)
def test_rule(expression: str, name: str) -> None:
    """Each rule at the head of the module holds."""
    assert hole_name(expression) == name


@given(st.text(max_size=60))
def test_any_text_gives_an_identifier(expression: str) -> None:
    """Whatever stands in a hole, its name is an ASCII identifier and no reserved word."""
    name = hole_name(expression)
    assert name.isidentifier()
    assert name.isascii()
    assert not keyword.iskeyword(name)


def test_deep_nesting_is_survived() -> None:
    """An expression too deep for Python's parser is named by its last identifier."""
    assert hole_name("(" * 5000 + "depth" + ")" * 5000) == "depth"
