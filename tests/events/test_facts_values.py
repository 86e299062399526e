from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.events.facts_values import read_call, read_config, read_dict, read_namespace, read_value
from triage.values import UnreadableError

names = st.from_regex(r"[a-z_][a-z0-9_]{0,20}", fullmatch=True).filter(lambda name: name not in ("api_key", "hf_token"))
scalars = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(-1e6, 1e6) | st.text(max_size=30)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def masked(value: object) -> bool:
    return "***" in repr(value) or "redacted" in repr(value).lower()


@given(st.dictionaries(names, values.filter(lambda value: not masked(value)), max_size=8))
def test_dictionaries_round_trip(args: dict[str, object]) -> None:
    """Any printed dictionary of plain values is read back as it was."""
    dump = read_dict(repr(args))
    assert dump.values == args
    assert dump.unusable == []


@given(st.dictionaries(names, values.filter(lambda value: not masked(value)), max_size=8))
def test_namespaces_round_trip(args: dict[str, object]) -> None:
    """Any printed Namespace of plain values is read back as it was."""
    dump = read_namespace("(" + ", ".join(f"{name}={value!r}" for name, value in args.items()) + ")")
    assert dump.values == args
    assert dump.unusable == []


@given(st.dictionaries(names, values, max_size=8), st.integers(0, 400))
def test_cut_dumps_say_so(args: dict[str, object], length: int) -> None:
    """A dump that was cut is marked, and no value is read that was not there whole."""
    whole = repr(args)
    cut = whole[: min(length, len(whole) - 1)]
    dump = read_dict(cut)
    if cut:
        assert "..." in dump.unusable
    assert all(args[name] == value for name, value in dump.values.items())


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    """No text makes the readers fail."""
    for read in (read_dict, read_namespace, read_call):
        read("{" + text)
        read("(" + text)
    read_config(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<ConfigFormat.AUTO: 'auto'>", "auto"),
        ("<CompilationMode.NONE: 0>", 0),
        ("torch.bfloat16", "bfloat16"),
        ("PosixPath('/models/x')", "/models/x"),
        ("(1, 2)", [1, 2]),
    ],
)
def test_printed_objects_with_a_plain_value(text: str, value: object) -> None:
    """Members of enumerations, dtypes, paths and tuples have a plain value."""
    assert read_value(text) == value


@pytest.mark.parametrize(
    "text", ["", "...", "CompilationConfig()", "b'x'", "{1, 2}", "1e999", "9" * 40, "x", "__import__('os')"]
)
def test_other_objects_are_unreadable(text: str) -> None:
    """Everything else is refused."""
    with pytest.raises(UnreadableError):
        read_value(text)


def test_config_line_keeps_plain_values() -> None:
    """Objects of the engine's line are left out, words without quotes taken."""
    config = read_config("model='a, b', mode=auto, x=Cfg(a=1, b={'c': 2}), n=4, on=True, e=, path=/srv/x")
    assert config == {"model": "a, b", "mode": "auto", "n": 4, "on": True, "path": "/srv/x"}


def test_lora_modules_with_more_than_name_and_path() -> None:
    """A module with further fields becomes JSON, as the flag takes it."""
    dump = read_dict("{'lora_modules': [LoRAModulePath(name='a', path='/p', base_model_name='b')]}")
    assert dump.values == {"lora_modules": ['{"name": "a", "path": "/p", "base_model_name": "b"}']}


def test_call_that_goes_on_gives_nothing() -> None:
    """A call whose end is on another line says nothing of its arguments."""
    dump = read_call('(model="m", ')
    assert (dump.values, dump.unusable) == ({}, [])


@pytest.mark.parametrize("wrap", ["<a: {}>", "PosixPath({})"])
def test_deep_nesting_is_unreadable_not_a_crash(wrap: str) -> None:
    """Enumerations and paths nested without end are refused like any value beyond the bounds."""
    text = "1"
    for _ in range(400):
        text = wrap.format(text)
    with pytest.raises(UnreadableError):
        read_value(text)
