from __future__ import annotations

import pytest
from packaging.version import Version

from triage.catalogue.load import load
from triage.diagnose import flags
from triage.diagnose.arguments import Arguments, CannotEditError, Release, rebuild
from triage.diagnose.flags import flag_name
from triage.diagnose.quoting import UnquotableError
from triage.diagnose.words import read_word
from triage.events import facts_flags

NEW = Release(Version("0.33.0"))
OLD = Release(Version("0.6.6"))


def arguments(text: str, args: dict[str, object] | None = None, release: Release = NEW) -> Arguments:
    import shlex

    return Arguments([read_word(word) for word in shlex.split(text)], release, args or {})


def written(given: Arguments) -> str:
    return " ".join(word.written for word in given.words)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("m --max-num-seqs 256 --port 1", "m --max-num-seqs 64 --port 1"),
        ("m --max_num_seqs 256 --port 1", "m --max_num_seqs 64 --port 1"),
        ("m --max-num-seqs=256 --port 1", "m --max-num-seqs=64 --port 1"),
        ("m --max_num_seqs=256", "m --max_num_seqs=64"),
        ("m --max-num-seqs 1 --port 1 --max_num_seqs=2", "m --max-num-seqs 64 --port 1"),
        ("m --port 1", "m --port 1 --max-num-seqs 64"),
        ("--max-num-seqs 256 m", "--max-num-seqs 64 m"),
        ("m --seed -1 --enforce-eager", "m --seed -1 --enforce-eager --max-num-seqs 64"),
    ],
)
def test_set_in_every_spelling(before: str, after: str) -> None:
    """A flag is changed where it stands, duplicates go, everything else stays in order."""
    given = arguments(before)
    given.set("--max-num-seqs", 64)
    assert written(given) == after


def test_short_forms() -> None:
    """A short form is the flag that it stands for."""
    given = arguments("m -tp 4 -tp=2")
    given.set("--tensor-parallel-size", 8)
    assert written(given) == "m -tp 8"
    assert flag_name("-dp") == "--data-parallel-size"


@pytest.mark.parametrize(
    ("before", "args", "after"),
    [
        ("m --a 1 --max-num-seqs 256 --b", {}, "m --a 1 --b"),
        ("m --max-num-seqs=256 --max_num_seqs 3", {}, "m"),
        ("--enforce-eager m", {}, "--enforce-eager m"),
        ("m --port 1", {}, "m --port 1"),
    ],
)
def test_unset(before: str, args: dict[str, object], after: str) -> None:
    """A flag goes with its value and in every spelling; others stay."""
    given = arguments(before, args)
    assert given.unset("--max-num-seqs") is (before != after)
    assert written(given) == after


def test_unset_knows_switches_and_lists() -> None:
    """A switch takes no value with it, a list all of its values."""
    given = arguments("--enforce-eager m --lora-modules a=1 b=2 --x")
    given.args = {"lora_modules": ["a=1", "b=2"]}
    given.unset("--enforce-eager")
    given.unset("--lora-modules")
    assert written(given) == "m --x"


def test_switches() -> None:
    """True and False turn a switch on and off, and replace its opposite."""
    given = arguments("m --no-enable-prefix-caching --port 1")
    given.set("--enable-prefix-caching", True)
    assert written(given) == "m --enable-prefix-caching --port 1"
    given.set("--enable-prefix-caching", False)
    assert written(given) == "m --no-enable-prefix-caching --port 1"
    given.set("--enforce-eager", True)
    assert written(given) == "m --no-enable-prefix-caching --port 1 --enforce-eager"


def test_off_where_the_release_has_no_negation() -> None:
    """A flag that the release lacks is not printed; the switch goes."""
    given = arguments("m --enforce-eager --port 1", release=OLD)
    given.set("--enforce-eager", False)
    assert written(given) == "m --port 1"
    given = arguments("m", release=Release(Version("0.33.0"), frozenset({"--enforce-eager", "--no-async-scheduling"})))
    given.set("--enforce-eager", False)
    assert written(given) == "m"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            """m --speculative-config '{"method": "mtp", "num_speculative_tokens": 5}' --port 1""",
            """m --speculative-config '{"method": "mtp", "num_speculative_tokens": 2}' --port 1""",
        ),
        (
            """m --speculative_config='{"num_speculative_tokens":5}'""",
            """m '--speculative_config={"num_speculative_tokens":2}'""",
        ),
        (
            "m --speculative-config.num_speculative_tokens 5",
            "m --speculative-config.num_speculative_tokens 2",
        ),
        ("m", "m --speculative-config.num_speculative_tokens 2"),
    ],
)
def test_set_inside_json(before: str, after: str) -> None:
    """A key inside a JSON value is changed there, or given by itself."""
    given = arguments(before)
    given.set("--speculative-config.num_speculative_tokens", 2)
    assert written(given) == after


def test_set_inside_json_on_an_old_release() -> None:
    """Where the parser takes no dotted flags the whole object is given."""
    given = arguments("m", release=OLD)
    given.set("--compilation-config.level", 2)
    assert written(given) == "m --compilation-config '{\"level\": 2}'"


def test_unset_inside_json() -> None:
    """A key is taken out; an empty object goes with its flag."""
    given = arguments("""m --speculative-config '{"a": 1, "b": 2}' --speculative-config.b 3""")
    assert given.unset("--speculative-config.b")
    assert written(given) == "m --speculative-config '{\"a\": 1}'"
    assert given.unset("--speculative-config.a")
    assert written(given) == "m"


@pytest.mark.parametrize("value", ['"$SPEC"', "not-json", "[1]", "{" * 3000])
def test_what_cannot_be_changed_inside(value: str) -> None:
    """A value that cannot be read is not changed by guess."""
    given = Arguments([read_word("--speculative-config"), read_word(value)], NEW)
    with pytest.raises(CannotEditError):
        given.set("--speculative-config.num_speculative_tokens", 2)


def test_value_that_begins_with_a_dash() -> None:
    """Such a value is joined to its flag; a negative number need not be."""
    given = arguments("m")
    given.set("--served-model-name", "-x")
    given.set("--seed", -1)
    assert written(given) == "m --served-model-name=-x --seed -1"


def test_rebuild() -> None:
    """Logged arguments become flags: switches, lists, JSON, secrets."""
    args: dict[str, object] = {
        "model_tag": "m",
        "model": "m",
        "enforce_eager": True,
        "enable_prefix_caching": False,
        "gpu_memory_utilization": 0.85,
        "served_model_name": ["a", "b c"],
        "allowed_origins": ["x"],
        "middleware": ["p.q", "r"],
        "speculative_config": {"method": "mtp"},
        "api_key": "***",
        "hf_token": "***",
        "seed": None,
    }
    assert " ".join(word.written for word in rebuild(args, NEW)) == (
        "--enforce-eager --no-enable-prefix-caching --gpu-memory-utilization 0.85 --served-model-name a 'b c' "
        '--allowed-origins \'["x"]\' --middleware p.q --middleware r --speculative-config \'{"method": "mtp"}\' '
        '--api-key "$VLLM_API_KEY" --hf-token "$HF_TOKEN"'
    )


def test_rebuild_for_old_releases() -> None:
    """Old parsers take ``name=value`` pairs and spelled-out booleans."""
    args: dict[str, object] = {"limit_mm_per_prompt": {"image": 4, "video": 1}, "enable_chunked_prefill": False}
    words = " ".join(word.written for word in rebuild(args, OLD))
    assert words == "--limit-mm-per-prompt image=4,video=1 --enable-chunked-prefill False"


@pytest.mark.parametrize("args", [{"use_tqdm_on_load": False}, {"x": []}, {"x": ["-a"]}])
def test_rebuild_does_not_invent(args: dict[str, object]) -> None:
    """What has no form as a flag is not rebuilt."""
    with pytest.raises(CannotEditError):
        rebuild(args, OLD)


def test_rebuild_refuses_what_is_not_printable() -> None:
    """A value with control characters disables the command, and its argument is named."""
    with pytest.raises(UnquotableError, match="served_model_name"):
        rebuild({"served_model_name": ["a\x1b[0m"]}, NEW)


@pytest.mark.parametrize(
    ("before", "changed", "dropped"),
    [
        ("--max-num-seqs 4 o/m", "--max-num-seqs 64 o/m", "o/m"),
        ("--port 1 --max-num-seqs 4 o/m --seed 1", "--port 1 --max-num-seqs 64 o/m --seed 1", "--port 1 o/m --seed 1"),
        ("--max-num-seqs=4 o/m", "--max-num-seqs=64 o/m", "o/m"),
        ("--enforce-eager o/m", "--enforce-eager o/m --max-num-seqs 64", "--enforce-eager o/m"),
        ("--port 1 -- o/m", "--port 1 --max-num-seqs 64 -- o/m", "--port 1 -- o/m"),
        ("--max-num-seqs 4 -- o/m", "--max-num-seqs 64 -- o/m", "-- o/m"),
        (
            "--served-model-name a b --max-num-seqs 4 o/m",
            "--served-model-name a b --max-num-seqs 64 o/m",
            "o/m --served-model-name a b",
        ),
        (
            "--allowed-origins * --max-num-seqs 4 o/m",
            "--allowed-origins '*' --max-num-seqs 64 o/m",
            "--allowed-origins '*' o/m",
        ),
    ],
)
def test_model_behind_flags_stays(before: str, changed: str, dropped: str) -> None:
    """A flag owns no more words than vLLM's parser gives it; no change takes the model away or makes it a value."""
    given = arguments(before)
    given.set("--max-num-seqs", 64)
    assert written(given) == changed
    given = arguments(before)
    given.unset("--max-num-seqs")
    assert written(given) == dropped
    assert [word.value for word in (given.model(),) if word] == ["o/m"]


@pytest.mark.parametrize(
    ("flag", "before", "after"),
    [
        ("--served-model-name", "m --served-model-name a b --port 1", "m --port 1"),
        ("--lora-modules", "m --lora-modules a=b c=d", "m"),
        ("--middleware", "--middleware a.b m", "m"),
        ("--enable-chunked-prefill", "--enable-chunked-prefill False m", "m"),
        ("--enable-chunked-prefill", "--enable-chunked-prefill m", "m"),
        ("--kv-sharing-fast-prefill", "--kv-sharing-fast-prefill m", "m"),
        ("--speculative-config", "m -sc.a 1 --speculative-config.b=2 --port 1", "m --port 1"),
        ("--speculative-config.b", "m -sc.a 1 -sc.b 2", "m -sc.a 1"),
        ("--optimization-level", "m -O3 --port 1", "m --port 1"),
        ("--optimization-level", "m -O 3 --port 1", "m --port 1"),
    ],
)
def test_unset_takes_the_flags_own_words(flag: str, before: str, after: str) -> None:
    """Flags of several words, of one, of none, and keys given by themselves."""
    given = arguments(before)
    assert given.unset(flag)
    assert written(given) == after


def test_level_in_short_form_is_replaced() -> None:
    """The short form, which has no blank before its value, is written out."""
    given = arguments("m -O3")
    given.set("--optimization-level", 0)
    assert written(given) == "m --optimization-level 0"


def test_flags_are_read_as_the_releases_parse_them() -> None:
    """Short forms, lists, switches and switches with a value are those of the parsers of all known releases."""
    book = load().options
    assert book is not None
    every = [flag for release in book for flag in book.options(release).values()]
    short = {one: f"--{flag.field.replace('_', '-')}" for flag in every for one in flag.short if one[1] != "-"}
    assert {one: flag for one, flag in flags.SHORT.items() if one != "-O"} == {
        one: flag for one, flag in short.items() if one != "-O"
    }
    kinds: dict[str, set[str]] = {}
    for flag in every:
        kinds.setdefault(flags.name_of(flag.name), set()).add(flag.kind)
    assert {name for name, of in kinds.items() if "several" in of} == set(flags.SEVERAL)
    assert {name for name, of in kinds.items() if of == {"switch"}} == {
        name
        for name, of in kinds.items()
        if of == {"switch"} and flags.SWITCHES.fullmatch(name) and name not in flags.BOOLEANS | flags.SEVERAL
    }
    never = {name for name, of in kinds.items() if not of & {"switch", "optional"}}
    assert not {name for name in never if flags.SWITCHES.fullmatch(name) or name in flags.BOOLEANS}
    assert all("optional" in kinds[name] for name in flags.BOOLEANS)
    assert all(kinds[name] == {"repeated"} for name in flags.REPEATED)


def test_facts_and_fixes_read_flags_alike() -> None:
    """Which words are a flag's is the same for what a run is known by and for what is done to its command."""
    assert {short: flags.name_of(flag) for short, flag in flags.SHORT.items()} == facts_flags.SHORT
    assert (flags.SEVERAL, flags.BOOLEANS, flags.SWITCHES) == (
        facts_flags.SEVERAL,
        facts_flags.BOOLEANS,
        facts_flags.SWITCHES,
    )
