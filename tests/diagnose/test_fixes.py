from __future__ import annotations

from collections.abc import Mapping

import pytest

from triage.diagnose.fixes import names_of, release_of, work_out
from triage.model import CaptureSpec, Catalogue, Cause, Fix, FixRecipe, RunFacts, Scalar

FLAGS = Catalogue(
    causes=(),
    flags={
        "0.8.0": frozenset({"--max-num-seqs", "--max-num-batched-tokens", "--num-speculative-tokens"}),
        "0.11.0": frozenset({"--max-num-seqs", "--max-num-batched-tokens", "--speculative-config", "--enforce-eager"}),
    },
)
TOKENS: Mapping[str, Scalar] = {"max_num_batched_tokens": 64, "max_num_seqs": 256}
RAISE = FixRecipe(
    title="raise --max-num-batched-tokens from {max_num_batched_tokens} to {max(max_num_seqs, 2048)}",
    set={"--max-num-batched-tokens": "max(max_num_seqs, 2048)"},
    safety="safe",
    tradeoff="more memory",
    verify="the log reaches `Application startup complete`",
)
LOWER = FixRecipe(title="run at most {max_num_batched_tokens}", set={"--max-num-seqs": "max_num_batched_tokens"})
DROP = FixRecipe(title="drop it", unset=("--max-num-batched-tokens",))
ARGS: dict[str, object] = {"model_tag": "org/m", "model": "org/m", "max_num_batched_tokens": 64, "max_num_seqs": 256}
RUN = RunFacts(vllm_version="0.11.0", args=ARGS, model="org/m")


def cause(*fixes: FixRecipe, captures: Mapping[str, CaptureSpec] | None = None, solutions: object = None) -> Cause:
    return Cause(
        record={"solutions": solutions},  # type: ignore[dict-item]
        wrapper=None,
        origin="test",
        id="x",
        slug="x",
        captures=captures or {},
        fixes=fixes,
    )


def fixes(*recipes: FixRecipe, captures: Mapping[str, Scalar] = TOKENS, facts: RunFacts = RUN) -> tuple[Fix, ...]:
    return work_out(cause(*recipes), captures, facts, FLAGS, None)


def test_both_ways_out_with_the_users_numbers() -> None:
    """Raise the one or lower the other, each as a complete command with every other argument kept."""
    raised, lowered, dropped = fixes(RAISE, LOWER, DROP)
    assert raised.title == "raise --max-num-batched-tokens from 64 to 2048"
    assert raised.set == {"--max-num-batched-tokens": 2048}
    assert raised.commands == ("vllm serve org/m --max-num-batched-tokens 2048 --max-num-seqs 256",)
    assert (raised.safety, raised.tradeoff, raised.missing) == ("safe", "more memory", ())
    assert lowered.commands == ("vllm serve org/m --max-num-batched-tokens 64 --max-num-seqs 64",)
    assert dropped.commands == ("vllm serve org/m --max-num-seqs 256",)
    assert dropped.unset == ("--max-num-batched-tokens",)


def test_idiom_of_the_run_or_the_one_asked_for() -> None:
    """Fixes come in the run's own idiom unless another is asked for."""
    facts = RunFacts(args={"model": "org/m", "max_num_seqs": 256}, launch_idiom="python")
    assert fixes(LOWER, facts=facts)[0].commands == ('LLM(model="org/m", max_num_seqs=64)',)
    asked = work_out(cause(LOWER), TOKENS, facts, FLAGS, "docker")
    assert asked[0].commands == ("--model org/m --max-num-seqs 64",)


def test_missing_number_withholds_the_fix() -> None:
    """A number that the log lacks leaves the fix without commands, and it is said how to get it."""
    (fix,) = fixes(RAISE, captures={}, facts=RunFacts(vllm_version="0.11.0"))
    assert fix.commands == ()
    assert fix.set == {}
    assert fix.missing == (
        "max_num_seqs is not in the log: start with --max-num-seqs N set, or pass the lines with 'non-default args'",
        "max_num_batched_tokens is not in the log: start with --max-num-batched-tokens N set, "
        "or pass the lines with 'non-default args'",
    )
    assert fix.title == "raise --max-num-batched-tokens from max_num_batched_tokens to max(max_num_seqs, 2048)"


def test_missing_number_that_is_a_default() -> None:
    """Where the arguments are known and the number is not among them, only setting it helps."""
    facts = RunFacts(args={"model": "m", "max_num_batched_tokens": 64})
    (fix,) = fixes(RAISE, captures={}, facts=facts)
    assert fix.missing == ("max_num_seqs is not in the log: start with --max-num-seqs N set",)


def test_missing_number_that_was_cut_away() -> None:
    """A capture whose text was cut asks for the whole message."""
    (fix,) = fixes(LOWER, captures={"max_num_batched_tokens": None}, facts=RunFacts())
    assert fix.missing == ("max_num_batched_tokens is cut off in the log: pass the whole message",)


def test_missing_number_that_is_no_argument() -> None:
    """Any other name asks for more of the log."""
    (fix,) = fixes(FixRecipe(title="x", set={"--max-num-seqs": "blocks"}), captures={}, facts=RunFacts())
    assert fix.missing == ("blocks is not in the log: pass the log from the start of vLLM on",)


def test_numbers_come_from_the_run_where_the_message_lacks_them() -> None:
    """Arguments, keys inside them and the engine's line stand in for captures."""
    facts = RunFacts(
        args={"model": "m", "max_num_seqs": 8, "speculative_config": {"num_speculative_tokens": 3}},
        engine={"max_seq_len": 4096, "max_num_seqs": 1},
        gpus=2,
    )
    names = names_of({"a": 1, "cut": None}, facts)
    assert names["max_num_seqs"] == 8
    assert names["num_speculative_tokens"] == 3
    assert names["max_model_len"] == 4096
    assert names["tensor_parallel_size"] == 1
    assert names["gpus"] == 2
    assert "cut" not in names
    recipe = FixRecipe(title="x", set={"--max-num-batched-tokens": "max_num_seqs * (num_speculative_tokens + 1)"})
    assert fixes(recipe, captures={}, facts=facts)[0].set == {"--max-num-batched-tokens": 32}


def test_second_seed_inside_json() -> None:
    """A key inside a JSON argument is changed on the user's own command."""
    launch = ("vllm", "serve", "m", "--speculative-config", "'{\"num_speculative_tokens\":8}'", "--port", "1")
    facts = RunFacts(vllm_version="0.11.0", launch=launch, args={"speculative_config": {"num_speculative_tokens": 8}})
    recipe = FixRecipe(
        title="draft {num_speculative_tokens - 5}",
        set={"--speculative-config.num_speculative_tokens": "num_speculative_tokens - 5"},
    )
    (fix,) = fixes(recipe, captures={}, facts=facts)
    assert fix.title == "draft 3"
    assert fix.commands == ("vllm serve m --speculative-config '{\"num_speculative_tokens\":3}' --port 1",)


def test_condition_decides() -> None:
    """A fix whose condition is false is absent; one whose condition lacks a number says so."""
    assert fixes(FixRecipe(title="x", steps=("y",), when="max_num_seqs > 1000")) == ()
    (fix,) = fixes(FixRecipe(title="x", steps=("y",), when="world_size > 1"), facts=RunFacts())
    assert fix.missing == ("world_size is not in the log: pass the log from the start of vLLM on",)


def test_number_of_another_wording_is_absent() -> None:
    """Where the message has wordings with and without a number, a fix for the other wording is not shown."""
    specs = {"estimate": CaptureSpec("estimate", "int")}
    recipe = FixRecipe(title="x", set={"--max-num-seqs": "estimate"}, when="estimate >= 1")
    assert work_out(cause(recipe, captures=specs), {}, RUN, FLAGS, None) == ()
    cut = work_out(cause(recipe, captures=specs), {"estimate": None}, RUN, FLAGS, None)
    assert cut[0].missing == ("estimate is cut off in the log: pass the whole message",)


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("0.8.0", False),
        ("0.8.9", False),
        ("0.11.0", True),
        ("0.33.0", True),
        ("0.11.1rc2.dev3+gabc", True),
        ("0.5.0", True),
        (None, True),
        ("what", True),
    ],
)
def test_flag_that_the_release_lacks_is_never_printed(version: str | None, shown: bool) -> None:
    """The release's own flags decide, else those of the nearest release below; else the flag is allowed."""
    recipe = FixRecipe(title="x", set={"--speculative-config.num_speculative_tokens": 2})
    assert bool(fixes(recipe, facts=RunFacts(vllm_version=version))) is shown


def test_release_of() -> None:
    """Post-releases are their own, builds ahead of a release count as that release."""
    catalogue = Catalogue((), {"0.8.5": frozenset({"--a"}), "0.8.5.post1": frozenset({"--b"}), "odd": frozenset()})
    assert release_of("0.8.5", catalogue).flags == {"--a"}
    assert release_of("0.8.5.post1", catalogue).flags == {"--b"}
    assert release_of("0.8.5rc1.dev2+g1", catalogue).flags == {"--a"}
    assert release_of("0.8.4", catalogue).flags is None
    assert release_of(None, catalogue).version is None


@pytest.mark.parametrize(
    ("version", "titles"),
    [
        ("0.8.0", ["old"]),
        ("0.11.0", ["new"]),
        ("0.11.0rc1", ["new"]),
        ("0.11.0+cu126", ["new"]),
        (None, ["old (vLLM <0.9)", "new (vLLM >=0.9)"]),
    ],
)
def test_recipes_for_other_releases_are_absent(version: str | None, titles: list[str]) -> None:
    """Version specifiers are held against the run's release; unknown, each recipe says what it is for."""
    old = FixRecipe(title="old", steps=("x",), versions="<0.9")
    new = FixRecipe(title="new", steps=("x",), versions=">=0.9")
    assert [fix.title for fix in fixes(old, new, facts=RunFacts(vllm_version=version))] == titles


@pytest.mark.parametrize(
    ("version", "title"),
    [
        ("0.5.0", "a (vLLM ==0.8.*)"),
        ("0.8.0", "a"),
        ("0.11.0", "b"),
        ("0.33.0", "b (vLLM >=0.11,<0.12)"),
        (None, "a (vLLM ==0.8.*)"),
    ],
)
def test_nearest_recipe_where_none_applies(version: str | None, title: str) -> None:
    """A message that is there proves its check: the recipes of the nearest release are shown, rather than none,
    and say which they are for."""
    one = FixRecipe(title="a", steps=("x",), versions="==0.8.*")
    other = FixRecipe(title="b", steps=("x",), versions=">=0.11,<0.12")
    nothing = FixRecipe(title="c", unset=("--enforce-eager",), versions=">=0.30")
    found = fixes(one, other, nothing, facts=RunFacts(vllm_version=version, args=ARGS))
    assert found[0].title == title


def test_flag_that_nobody_knows_to_be_there() -> None:
    """Dropping a flag is for those who have it: absent, last with a condition, or in its place."""
    drop = FixRecipe(title="drop it", unset=("--enforce-eager",))
    other = FixRecipe(title="other", steps=("x",))
    assert [fix.title for fix in fixes(drop, other)] == ["other"]
    titles = [fix.title for fix in fixes(drop, other, facts=RunFacts(vllm_version="0.11.0"))]
    assert titles == ["other", "if --enforce-eager is set: drop it"]
    launch = RunFacts(vllm_version="0.11.0", launch=("vllm", "serve", "m", "--enforce_eager"), args={"model_tag": "m"})
    first, _ = fixes(drop, other, facts=launch)
    assert (first.title, first.commands) == ("drop it", ("vllm serve m",))
    config = RunFacts(launch=("vllm", "serve", "m", "--config", "c"), args={"model_tag": "m", "config": "c"})
    *_, last = fixes(drop, other, facts=config)
    assert last.title == "if --enforce-eager is set: drop it"
    assert last.steps == ("--enforce-eager is not on this command line: drop it where it is set",)


def test_variable_beside_a_flag_that_is_given() -> None:
    """Where the flag is the cause, a variable that the log does not show is a step behind the command."""
    recipe = FixRecipe(title="x", unset=("--max-num-seqs",), unset_env=("V",))
    (fix,) = fixes(recipe)
    assert (fix.env, fix.steps) == ({}, ("if V is set in its environment: unset it too",))
    assert fix.commands == ("vllm serve org/m --max-num-batched-tokens 64",)
    (fix,) = fixes(recipe, facts=RunFacts(launch=("V=1", "vllm", "serve", "m", "--max-num-seqs", "4")))
    assert (fix.env, fix.commands, fix.steps) == ({"V": None}, ("vllm serve m",), ())
    (fix,) = fixes(recipe, facts=RunFacts(args={"model": "m"}))
    assert fix.commands == ("env -u V vllm serve m",)


@pytest.mark.parametrize(
    ("args", "port"), [({"port": 9001}, 9001), ({}, 8000), ({"port": "x"}, 8000), ({"port": True}, 8000)]
)
def test_port_in_texts(args: dict[str, object], port: int) -> None:
    """Checks and steps reach the server where the user has it."""
    recipe = FixRecipe(
        title="x", steps=("ask {port}",), tradeoff="on {port}", verify="curl http://localhost:{port}/health"
    )
    (fix,) = fixes(recipe, facts=RunFacts(args=args))
    assert fix.steps == (f"ask {port}",)
    assert fix.tradeoff == f"on {port}"
    assert fix.verify == f"curl http://localhost:{port}/health"


def test_port_of_the_message_goes_first() -> None:
    """A cause that captures a port means that one, and has none where the message has none."""
    recipe = FixRecipe(title="x", steps=("ss -ltnp | grep {port}",))
    specs = {"port": CaptureSpec("port", "int")}
    (fix,) = work_out(cause(recipe, captures=specs), {"port": 5570}, RUN, FLAGS, None)
    assert fix.steps == ("ss -ltnp | grep 5570",)
    assert work_out(cause(recipe, captures=specs), {}, RUN, FLAGS, None) == ()


@pytest.mark.parametrize(
    ("recipe", "kept"),
    [
        (FixRecipe(title="x", set={"--max-num-seqs": 256}), False),
        (FixRecipe(title="x", set={"--max-num-seqs": "max_num_seqs * 1.0"}), False),
        (FixRecipe(title="x", set={"--max-num-seqs": 256, "--max-num-batched-tokens": 2048}), True),
        (FixRecipe(title="x", set={"--max-num-seqs": 256}, env={"A": 1}), True),
        (FixRecipe(title="x", unset=("--enforce-eager",)), False),
        (FixRecipe(title="x", unset=("--max-num-seqs",)), True),
        (FixRecipe(title="x", set={"--enforce-eager": True}), True),
    ],
)
def test_fix_that_changes_nothing_is_absent(recipe: FixRecipe, kept: bool) -> None:
    """What the run has already is no fix."""
    assert bool(fixes(recipe)) is kept


def test_values_of_each_kind() -> None:
    """Constants, expressions, texts, switches and variables."""
    recipe = FixRecipe(
        title="x",
        set={"--max-num-seqs": "max_num_seqs / 2", "--enforce-eager": True},
        env={"A": {"text": "b c"}, "N": 2, "ON": True},
        unset_env=("GONE",),
    )
    (fix,) = fixes(recipe, facts=RunFacts(vllm_version="0.11.0", launch=("GONE=1", "vllm", "serve", "m")))
    assert fix.set == {"--max-num-seqs": 128, "--enforce-eager": True}
    assert fix.env == {"A": "b c", "N": 2, "ON": True, "GONE": None}
    assert fix.commands == ("A='b c' N=2 ON=1 vllm serve m --max-num-seqs 128 --enforce-eager",)


def test_token_of_the_user() -> None:
    """A variable that is to be itself is asked for, not written."""
    (fix,) = fixes(FixRecipe(title="x", env={"HF_TOKEN": {"text": "$HF_TOKEN"}}))
    assert (fix.env, fix.commands) == ({}, ())
    assert fix.steps == ("set HF_TOKEN in the environment that this is run from",)


def test_number_without_a_value_withholds() -> None:
    """A division by zero is said, not raised."""
    recipe = FixRecipe(title="x", set={"--max-num-seqs": "1 // zero"})
    (fix,) = fixes(recipe, captures={"zero": 0})
    assert fix.missing == ("its number cannot be worked out: division by zero",)
    (fix,) = fixes(FixRecipe(title="x", steps=("y",), when="1 / zero"), captures={"zero": 0})
    assert fix.missing == ("its condition cannot be worked out: division by zero",)


def test_texts_to_paste_are_quoted() -> None:
    """A value from the log is quoted in steps and checks, shown as it is in titles."""
    recipe = FixRecipe(title="no {path}", steps=("ls {path}",), verify="stat {path}")
    (fix,) = fixes(recipe, captures={"path": "x; rm -rf ~ #"})
    assert (fix.title, fix.steps, fix.verify) == ("no x; rm -rf ~ #", ("ls 'x; rm -rf ~ #'",), "stat 'x; rm -rf ~ #'")
    (fix,) = fixes(recipe, captures={"path": "a\n\x1b[0m"})
    assert (fix.title, fix.steps) == ("no a\\n\\x1b[0m", ("ls UNPRINTABLE",))


def test_solutions_of_a_record_without_fixes() -> None:
    """They become fixes without commands, for the user to judge."""
    found = work_out(cause(solutions=["Lower it.\x1b", 3, " "]), {}, RUN, FLAGS, None)
    assert found == (Fix(title="Lower it.\\x1b", safety="needs_judgement"),)
    assert work_out(cause(solutions=None), {}, RUN, FLAGS, None) == ()


def test_advice_in_general_says_what_the_message_lacks() -> None:
    """Where no change can be computed because this wording has no number, that is said, not that none applies."""
    recipe = FixRecipe(title="run {seats + 1}", set={"--max-num-seqs": "seats + 1"})
    named = cause(recipe, captures={"seats": CaptureSpec("seats", "int")}, solutions=["Choose another number"])
    (general,) = work_out(named, {}, RUN, FLAGS, None)
    assert general.steps == ("Choose another number",)
    assert general.missing == ("seats: this message does not say it, other wordings of it do",)
    assert "no known change applies" not in general.title
