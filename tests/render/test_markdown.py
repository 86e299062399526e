"""Markdown to attach: bounded, and deaf to what the log text says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_examples import EXAMPLES, HOSTILE, SEED, SEED_REPORT, UNKNOWN

from triage.model import Fix
from triage.render import Options, render
from triage.render.markdown import code, escaped, fenced, language_of
from triage.render.visible import visible

_MD = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def _tokens(text):
    for token in _MD.parse(text):
        yield token
        yield from token.children or ()


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_report_is_at_most_80_lines(name):
    """What is attached to a failed job fits on a page."""
    assert len(render(EXAMPLES[name], "markdown").splitlines()) <= 80


def test_the_page_has_cause_place_link_and_commands():
    """Heading with the cause, the place as a link, each command in a fence of its own."""
    text = render(SEED_REPORT, "markdown")
    assert text.startswith("## error: --max-num-batched-tokens (64) is lower than --max-num-seqs (256)\n")
    assert "[`vllm/config/scheduler.py:332`](https://github.com/vllm-project/vllm/blob/v0.33.0/" in text
    fences = [token.content for token in _tokens(text) if token.type == "fence"]
    assert fences[1:] == ["vllm serve Qwen/Qwen3-8B --max-num-seqs 256\n", f"{SEED.fixes[1].commands[0]}\n"]


def test_a_hostile_log_makes_no_html_link_image_or_heading():
    """Log text outside code is text: no HTML, no link but the catalogue's, no mention left whole."""
    tokens = list(_tokens(render(HOSTILE, "markdown")))
    assert not [token for token in tokens if token.type in ("html_block", "html_inline", "image")]
    links = [token.attrGet("href") for token in tokens if token.type == "link_open"]
    assert links == ["https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/scheduler.py#L332"]
    assert sum(token.type == "heading_open" for token in tokens) == 1
    plain = "".join(token.content for token in tokens if token.type == "text")
    assert "@\u200bteam" in plain
    assert "@team" not in plain
    assert "#12" not in plain
    assert "https://evil" not in plain
    assert ":fire:" not in plain


def test_a_url_that_is_not_plain_https_is_no_link():
    """A place's link is only followed where it is an ordinary https address."""
    for url in ("javascript:alert(1)", "https://x.example/a)b", "https://x.example/a b"):
        place = replace(SEED.location, url=url)
        text = render(replace(SEED_REPORT, findings=(replace(SEED, location=place),)), "markdown")
        assert not [token for token in _tokens(text) if token.type == "link_open"]


@given(st.text(st.sampled_from("`*_[]()<>!&#@:/~|\\ \n-+=.1ahtps$"), max_size=40))
def test_escaped_text_reads_as_itself(text):
    """Markdown gives back the very text, less the zero-width blanks, as nothing but text."""
    line = visible(text, 1000)
    (block, inline, _) = _MD.parse("x: " + escaped(line) + " :x")[:3]
    assert block.type == "paragraph_open"
    assert {token.type for token in inline.children} <= {"text"}
    shown = "".join(token.content for token in inline.children).replace("\u200b", "")
    assert shown == f"x: {line} :x"


@given(st.text(st.sampled_from("`*_[]()<>!&#@:/~|\\ -+=.1a"), max_size=40))
def test_escaped_text_begins_no_block(text):
    """At the start of a line, too, it is a paragraph, not a list, a heading, a rule or a quote."""
    tokens = _MD.parse(escaped(text))
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close", "code_block"}
    assert not [token for token in tokens if token.type == "code_block" and not text.startswith("    ")]


@given(st.text(st.sampled_from("`a |*<"), min_size=1, max_size=30))
def test_code_reads_as_itself(text):
    """Inline code holds the very text, whatever backticks are in it."""
    inline = _MD.parse("x" + code(text) + "x")[1]
    (span,) = [token for token in inline.children if token.type == "code_inline"]
    assert span.content == text or not text.strip()


@given(st.lists(st.text(st.sampled_from("`~a "), max_size=12), min_size=1, max_size=4))
def test_a_fence_cannot_be_closed_from_within(lines):
    """The fence is longer than any run of backticks in its text."""
    tokens = _MD.parse("\n".join([*fenced(lines, "sh"), "after"]))
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("command", "language"),
    [
        ("vllm serve x", "sh"),
        ("HF_TOKEN=1 vllm serve x", "sh"),
        ("args:\n  - --model", "yaml"),
        ("- --model", "yaml"),
        ("from vllm import LLM\nllm = LLM()", "python"),
        ("llm = LLM(model='x')", "python"),
    ],
)
def test_a_fence_names_the_language(command, language):
    """Commands of each idiom are fenced as what they are."""
    assert language_of(command) == language


def test_many_long_fixes_are_cut_to_lines():
    """What does not fit on the page keeps a line; show_all gives everything."""
    fixes = tuple(Fix(f"way {n}", commands=(f"run {n}",), steps=("a", "b", "c")) for n in range(9))
    report = replace(SEED_REPORT, findings=(replace(SEED, fixes=fixes),) * 3)
    short = render(report, "markdown")
    assert len(short.splitlines()) <= 80
    assert "run 0" in short
    assert "run 8" not in short
    assert "(`vllm-triage --all` shows them in full)" in short
    assert render(report, "markdown", Options(show_all=True)).count("run 8") == 3


def test_an_unknown_failure_says_so():
    """No record: said in the facts and as the reason, with the raw error in the fence."""
    text = render(UNKNOWN, "markdown")
    assert "- **Record:** none knows this message" in text
    assert "no record knows this message, so no cause is named" in text
    assert "For debugging consider passing CUDA_LAUNCH_BLOCKING=1" in text


def test_context_quotes_the_lines_around_the_numbered_one():
    """With a context, the fence has the lines around and the number stands at the message's own."""
    finding = replace(SEED, evidence=("before", f"ValueError: {SEED.message}", "after"))
    text = render(replace(SEED_REPORT, findings=(finding,)), "markdown", Options(context=1))
    assert f"   | before\n87 | ValueError: {SEED.message}\n   | after\n" in text


def test_all_fixes_are_in_full_where_they_fit():
    """A fix that has only steps is no use without them, so all are shown as long as the page is not too long."""
    fixes = tuple(Fix(f"way {n}", steps=(f"step {n}",)) for n in range(5))
    text = render(replace(SEED_REPORT, findings=(replace(SEED, fixes=fixes),)), "markdown")
    assert all(f"- step {n}\n" in text for n in range(5))
    assert "--all" not in text.split("way 0")[1].split("1 root cause")[0]


def test_what_stands_between_backticks_is_code():
    """A check and a step name logs and commands in backticks: code in Markdown too, not escaped ticks."""
    fix = Fix("x", verify="the log reaches `Application startup complete`", steps=("run `a_b *c*` <now>",))
    text = render(replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),)), "markdown")
    assert "Then check: the log reaches `Application startup complete`\n" in text
    assert "- run `a_b *c*` &lt;now&gt;\n" in text
    assert "\\`" not in text


def test_a_check_to_run_is_code_on_one_line():
    """A command that verifies a fix stands behind its label."""
    fix = Fix("x", verify="curl -fsS http://localhost:8000/health")
    text = render(replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),)), "markdown")
    assert "Then check: `curl -fsS http://localhost:8000/health`\n" in text
