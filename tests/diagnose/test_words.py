from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.diagnose.quoting import UnquotableError
from triage.diagnose.words import is_pattern, literal, read_word, variable, without_secrets

printable = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("--max-num-seqs", "--max-num-seqs"),
        ("'{\"a\": 1}'", '{"a": 1}'),
        ("'it'\"'\"'s'", "it's"),
        ("A='b c'", "A=b c"),
        ("''", ""),
    ],
)
def test_words_as_a_shell_writes_them(written: str, value: str) -> None:
    """A word in the forms of a launch keeps its writing and has its value."""
    word = read_word(written)
    assert (word.value, word.written) == (value, written)


@pytest.mark.parametrize(
    "text", ["x; rm -rf ~ #", '{"a":1}', "$(rm x)", "`rm x`", '"$(rm x)"', "'a' ; 'b'", '"a', "a b", "*"]
)
def test_other_words_are_text(text: str) -> None:
    """A word in any other form stands for itself, quoted."""
    word = read_word(text)
    assert word.value == text
    assert word.written == literal(text).written


@settings(max_examples=60, deadline=None)
@given(printable)
def test_no_word_runs_anything(text: str) -> None:
    """Whatever a word of the launch holds, it is one word for a real sh, and variables are all that is replaced."""
    try:
        written = read_word(text).written
    except UnquotableError:
        return
    done = subprocess.run(["sh", "-c", f"set -- {written}; echo $#"], capture_output=True, check=True)
    assert done.stdout == b"1\n"
    assert done.stderr == b""


def test_variables_in_each_idiom() -> None:
    """A variable is written as each idiom refers to one."""
    word = read_word('"$HOME/x:${DIR}"')
    assert word.value is None
    assert word.kubernetes() == '"$(HOME)/x:$(DIR)"'
    assert word.compose() == '"${HOME}/x:${DIR}"'
    assert read_word("~/x").compose() == '"${HOME}/x"'
    assert variable("HF_TOKEN", before="HF_TOKEN=").written == 'HF_TOKEN="$HF_TOKEN"'


@pytest.mark.parametrize("text", ["a\nb", "\x1b[0m", "a\u202e", "a" * 5000])
def test_what_cannot_be_printed_is_refused(text: str) -> None:
    """A word that is not printable disables the command."""
    with pytest.raises(UnquotableError):
        read_word(text)


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--api-key", "abc", "--port", "1"], '--api-key "$VLLM_API_KEY" --port 1'),
        (["--api_key", "abc", "def"], '--api_key "$VLLM_API_KEY"'),
        (["--api-key=abc"], '--api-key="$VLLM_API_KEY"'),
        (["--hf-token", "hf_abc"], '--hf-token "$HF_TOKEN"'),
        (["-e", "HF_TOKEN=hf_abc"], '-e HF_TOKEN="$HF_TOKEN"'),
        (["--env=HUGGING_FACE_HUB_TOKEN=abc"], '--env=HUGGING_FACE_HUB_TOKEN="$HUGGING_FACE_HUB_TOKEN"'),
        (["AWS_SECRET_ACCESS_KEY=abc", "vllm"], 'AWS_SECRET_ACCESS_KEY="$AWS_SECRET_ACCESS_KEY" vllm'),
        (["TOKENIZERS_PARALLELISM=false"], "TOKENIZERS_PARALLELISM=false"),
        (["--max-num-batched-tokens=64"], "--max-num-batched-tokens=64"),
        (["x=hf_abcdefghijklmnopqrstuv"], '"x=${HF_TOKEN}"'),
        (['"$KEY"'], '"$KEY"'),
    ],
)
def test_secrets_become_variables(words: list[str], kept: str) -> None:
    """Keys and tokens are never printed; what only looks like them stays."""
    assert " ".join(word.written for word in without_secrets(read_word(word) for word in words)) == kept


def test_home_folders() -> None:
    """They stay as the user wrote them; another user's has no form outside a shell."""
    assert read_word("~/x").kubernetes() == '"$(HOME)/x"'
    assert read_word("A=~/x").compose() == '"A=${HOME}/x"'
    assert read_word("~user/x").written == "~user/x"
    for write in (read_word("~user/x").kubernetes, read_word("~user/x").compose):
        with pytest.raises(UnquotableError):
            write()


@pytest.mark.parametrize(
    ("written", "value", "pattern"),
    [(r"/a/\*/b", "/a/*/b", True), (r"\{a\,b\}", "{a,b}", True), ("'*'", "*", False), ("a", "a", False)],
)
def test_patterns_come_back_quoted(written: str, value: str, pattern: bool) -> None:
    """What the shell had to fill in stands for itself, and is told from what was quoted."""
    assert read_word(written).value == value
    assert read_word(written).written == literal(value).written
    assert is_pattern(written) is pattern


def test_key_flags_own_their_keys_alone() -> None:
    """--api-key takes several words, --hf-token one; a key that begins with a tilde is one."""
    for text, masked in [
        ("--api-key k1 k2 --port 1", '--api-key "$VLLM_API_KEY" --port 1'),
        ("--hf-token k1 o/m", '--hf-token "$HF_TOKEN" o/m'),
        ("--hf-token ~secret", '--hf-token "$HF_TOKEN"'),
    ]:
        words = without_secrets(read_word(word) for word in text.split())
        assert " ".join(word.written for word in words) == masked


def test_behind_a_prefix() -> None:
    """The value of an assignment, with its variables."""
    assert read_word("A='b c'").behind("A=").written == "'b c'"
    assert read_word('A="$B/c"').behind("A=").written == '"$B/c"'
    assert read_word("A=").behind("A=").written == "''"
    with pytest.raises(UnquotableError):
        read_word("A=b").behind("B=")
