"""The two errors that the project grew from, in every shape that they are met in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from triage.model import Finding, Report
from triage.read.prefixes import PREFIXES

Diagnose = Callable[..., Report]

FIRST = "max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256)."
SECOND = (
    "max_num_scheduled_tokens is set to -192 based on the speculative decoding settings, which does not allow any tokens to "
    "be scheduled. Increase max_num_batched_tokens to accommodate the additional draft token slots, or decrease "
    "num_speculative_tokens or max_num_seqs."
)
SEEDS = {
    "batched-tokens-below-num-seqs": (FIRST, {"max_num_batched_tokens": 64, "max_num_seqs": 256}),
    "no-tokens-left-after-draft-slots": (SECOND, {"max_num_scheduled_tokens": -192}),
}
SHAPES: dict[str, Callable[[str], str]] = {
    "the message alone": lambda m: m,
    "with its class": lambda m: f"ValueError: {m}",
    "inside pydantic": lambda m: (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n"
        f"  Value error, {m} [type=value_error, input_value=ArgsKwargs((), {{'model_config': Mo...ation_config': None}}), "
        "input_type=ArgsKwargs]\n    For further information visit https://errors.pydantic.dev/2.12/v/value_error"
    ),
    "inside a relay": lambda m: (
        f"RuntimeError: Worker failed with error '{m}', please check the stack trace above for the root cause"
    ),
    "in a traceback": lambda m: (
        "Traceback (most recent call last):\n"
        '  File "/usr/local/lib/python3.12/dist-packages/vllm/engine/arg_utils.py", line 1142, in create_engine_config\n'
        "    config = VllmConfig(\n             ^^^^^^^^^^^\n"
        f"ValueError: {m}"
    ),
    "in a sentence": lambda m: f"Hi all, my pod says {m} What does that mean?",
    "in capitals lost and quotes changed": lambda m: f"valueerror: {m.lower()}",
}
PREFIXED = {
    f"{prefix.name}: {example}": example for prefix in PREFIXES for example in prefix.examples if "TEXT" in example
}


def only_root(report: Report) -> Finding:
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert len(roots) == 1, [finding.message for finding in roots]
    assert report.status == "cause_found"
    return roots[0]


def check(finding: Finding, slug: str) -> None:
    message, captures = SEEDS[slug]
    assert finding.record is not None
    assert finding.record.slug == slug
    assert finding.message == message
    assert finding.confidence == "exact"
    assert {name: finding.captures[name] for name in captures} == captures
    assert all(type(finding.captures[name]) is int for name in captures)


def wrapped(text: str, width: int) -> str:
    return "\n".join(line[at : at + width] for line in text.split("\n") for at in range(0, max(len(line), 1), width))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("slug", SEEDS)
def test_shape(diagnose: Diagnose, slug: str, shape: str) -> None:
    """Bare, as an exception, wrapped by pydantic or a relay, in a sentence: one root cause, numbers as numbers."""
    check(only_root(diagnose(SHAPES[shape](SEEDS[slug][0]) + "\n")), slug)


@pytest.mark.parametrize("prefix", PREFIXED)
@pytest.mark.parametrize("slug", SEEDS)
def test_prefix(diagnose: Diagnose, slug: str, prefix: str) -> None:
    """Behind every envelope that is known, the traceback's every line carrying it."""
    text = SHAPES["in a traceback"](SEEDS[slug][0])
    example = PREFIXED[prefix].replace("INFO", "ERROR")
    check(only_root(diagnose("".join(example.replace("TEXT", line) + "\n" for line in text.split("\n")))), slug)


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("slug", SEEDS)
def test_hard_wrap(diagnose: Diagnose, slug: str, shape: str, width: int) -> None:
    """A terminal broke the lines, in the middle of words and numbers."""
    check(only_root(diagnose(wrapped(SHAPES[shape](SEEDS[slug][0]), width) + "\n")), slug)


@pytest.mark.parametrize("width", [100, 140])
@pytest.mark.parametrize("slug", SEEDS)
def test_hard_wrap_behind_prefixes(diagnose: Diagnose, slug: str, width: int) -> None:
    """The same where each logged line has its prefix and the continuations have none."""
    text = SHAPES["in a traceback"](SEEDS[slug][0])
    lines = [f"(EngineCore_DP0 pid=271) ERROR 11-30 14:15:09 [core.py:708] {line}" for line in text.split("\n")]
    check(only_root(diagnose(wrapped("\n".join(lines), width) + "\n")), slug)


@pytest.mark.parametrize("ending", ["", "...", " …"])
@pytest.mark.parametrize("lead", ["", "ValueError: ", "ERROR 11-30 14:15:09 [core.py:708] ValueError: "])
def test_cut_after_sixty_percent(diagnose: Diagnose, lead: str, ending: str) -> None:
    """What was cut away is null and withholds the fixes that need it; what is there still counts."""
    finding = only_root(diagnose(lead + FIRST[: int(0.6 * len(FIRST))] + ending + "\n"))
    assert finding.record is not None
    assert finding.record.slug == "batched-tokens-below-num-seqs"
    assert finding.confidence == "truncated"
    assert finding.captures["max_num_batched_tokens"] == 64
    assert finding.captures["max_num_seqs"] is None
    withheld = [fix for fix in finding.fixes if fix.missing]
    assert withheld
    assert all(fix.commands == () and not fix.set for fix in withheld)
    assert [dict(fix.set) for fix in finding.fixes if not fix.missing] == [{"--max-num-seqs": 64}]


def test_second_cut_after_sixty_percent(diagnose: Diagnose) -> None:
    """The second seed's number stands at its beginning and survives the cut."""
    finding = only_root(diagnose(f"ValueError: {SECOND[: int(0.6 * len(SECOND))]}\n"))
    assert finding.record is not None
    assert finding.record.slug == "no-tokens-left-after-draft-slots"
    assert (finding.confidence, finding.captures["max_num_scheduled_tokens"]) == ("truncated", -192)


@pytest.mark.parametrize(
    ("slug", "version", "line"),
    [
        ("batched-tokens-below-num-seqs", "0.11.0", 246),
        ("batched-tokens-below-num-seqs", "0.25.1", 287),
        ("batched-tokens-below-num-seqs", "0.30.0", 310),
        ("batched-tokens-below-num-seqs", "0.33.0", 332),
        ("no-tokens-left-after-draft-slots", "0.25.1", 1639),
        ("no-tokens-left-after-draft-slots", "0.30.0", 2126),
        ("no-tokens-left-after-draft-slots", "0.33.0", 2351),
    ],
)
def test_location_is_that_of_the_release(diagnose: Diagnose, slug: str, version: str, line: int) -> None:
    """The line of the raise statement in the release's own sources, by the banner or as given."""
    message = SEEDS[slug][0]
    if version in ("0.30.0", "0.33.0"):  # the seed page's own wording
        message = message.replace(" or max_num_seqs.", ".")
    banner = f"(APIServer pid=1) INFO 11-30 14:15:02 [api_server.py:1] vLLM API server version {version}\n"
    logged = only_root(diagnose(f"{banner}ValueError: {message}\n")).location
    given = only_root(diagnose(f"ValueError: {message}\n", vllm_version=version)).location
    assert logged == given
    assert logged is not None
    assert (logged.line, logged.version, logged.basis) == (line, version, "catalogue")
    assert logged.url == f"https://github.com/vllm-project/vllm/blob/v{version}/{logged.file}#L{line}"


def test_warning_of_the_same_words_is_no_failure(diagnose: Diagnose) -> None:
    """vLLM warns in nearly the second seed's words when few tokens are left; that is no failure."""
    report = diagnose(
        "WARNING 11-30 14:15:02 [vllm.py:1400] max_num_scheduled_tokens is set to 4096 based on the speculative decoding "
        "settings. This may lead to suboptimal performance. Consider increasing max_num_batched_tokens to accommodate the "
        "additional draft token slots, or decrease num_speculative_tokens.\n"
    )
    assert (report.status, report.findings) == ("healthy", ())
