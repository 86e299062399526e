"""Fixes for mistakes in the command line, out of the flags that each release has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from triage.catalogue.load import load
from triage.diagnose.fixes import release_of
from triage.diagnose.mistakes import closest, translated
from triage.diagnose.numerals import json_meant, number_meant
from triage.model import FixRecipe, Report

Diagnose = Callable[..., Report]

CATALOGUE = load()

BANNER = "INFO 11-30 14:15:02 [api_server.py:1043] vLLM API server version {}\n"
USAGE = "usage: vllm [-h] [-v]\n            {chat,complete,serve,launch,bench,collect-env,run-batch} ...\n"


class Case(NamedTuple):
    """A command line that a release refuses, its complaint, and what the first fix must say."""

    name: str
    version: str | None
    command: str
    error: str
    set: Mapping[str, object] = MappingProxyType({})
    unset: tuple[str, ...] = ()
    last_line: str | None = None
    says: str = ""


CASES = (
    Case(
        "misspelt",
        "0.11.0",
        "vllm serve acme/m --max-num-sqes 12 --port 8101",
        "vllm: error: unrecognized arguments: --max-num-sqes 12",
        {"--max-num-seqs": 12},
        ("--max-num-sqes",),
        "vllm serve acme/m --port 8101 --max-num-seqs 12",
    ),
    Case(
        "underscores and an abbreviation",
        "0.25.1",
        "vllm serve acme/m --max_num_batch_tokens 4096",
        "vllm: error: unrecognized arguments: --max-num-batch-tokens 4096",
        {"--max-num-batched-tokens": 4096},
        ("--max-num-batch-tokens",),
        "vllm serve acme/m --max-num-batched-tokens 4096",
    ),
    Case(
        "renamed",
        "0.13.0",
        "vllm serve acme/m --cuda-graph-sizes 8",
        "vllm: error: unrecognized arguments: --cuda-graph-sizes 8",
        {"--cudagraph-capture-sizes": 8},
        ("--cuda-graph-sizes",),
        "vllm serve acme/m --cudagraph-capture-sizes 8",
    ),
    Case(
        "moved into a JSON value",
        "0.9.1",
        "vllm serve acme/m --speculative-model acme/d --num-speculative-tokens 3",
        "vllm: error: unrecognized arguments: --speculative-model acme/d --num-speculative-tokens 3",
        {"--speculative-config.model": "acme/d", "--speculative-config.num_speculative_tokens": 3},
        ("--speculative-model", "--num-speculative-tokens"),
        "vllm serve acme/m --speculative-config.model acme/d --speculative-config.num_speculative_tokens 3",
    ),
    Case(
        "a switch that became a value",
        "0.15.0",
        "vllm serve acme/m --disable-mm-preprocessor-cache",
        "vllm: error: unrecognized arguments: --disable-mm-preprocessor-cache",
        {"--mm-processor-cache-gb": 0},
        ("--disable-mm-preprocessor-cache",),
        "vllm serve acme/m --mm-processor-cache-gb 0",
    ),
    Case(
        "misspelt, with a text",
        "0.11.0",
        "vllm serve acme/m --pooler-confg x",
        "vllm: error: unrecognized arguments: --pooler-confg x",
        {"--pooler-config": "x"},
        ("--pooler-confg",),
    ),
    Case(
        "too new",
        "0.8.5",
        "vllm serve acme/m --attention-backend FLASH_ATTN",
        "vllm: error: unrecognized arguments: --attention-backend FLASH_ATTN",
        {},
        ("--attention-backend",),
        "vllm serve acme/m",
        says="vLLM 0.8.5 has no --attention-backend; it is a flag of vLLM 0.13.0 to 0.33.0",
    ),
    Case(
        "removed",
        "0.25.1",
        "vllm serve acme/m --swap-space 4",
        "vllm: error: unrecognized arguments: --swap-space 4",
        {},
        ("--swap-space",),
        "vllm serve acme/m",
        says="it is a flag of vLLM 0.6.0 to 0.17.1",
    ),
    Case(
        "release unknown",
        None,
        "",
        "vllm: error: unrecognized arguments: --max-num-sqes 7",
        {"--max-num-seqs": 7},
        ("--max-num-sqes",),
        "--max-num-seqs 7",
    ),
    Case(
        "a choice in capitals",
        "0.11.0",
        "vllm serve acme/m --kv-cache-dtype FP8",
        "vllm serve: error: argument --kv-cache-dtype: invalid choice: 'FP8' (choose from 'auto', 'bfloat16', 'fp8', "
        "'fp8_e4m3', 'fp8_e5m2', 'fp8_inc')",
        {"--kv-cache-dtype": "fp8"},
        (),
        "vllm serve acme/m --kv-cache-dtype fp8",
    ),
    Case(
        "a dtype under another name",
        "0.32.0",
        "vllm serve acme/m --dtype bf16",
        "vllm serve: error: argument --dtype: invalid choice: 'bf16' (choose from auto, bfloat16, float, float16)",
        {"--dtype": "bfloat16"},
        (),
        "vllm serve acme/m --dtype bfloat16",
    ),
    Case(
        "JSON whose quotes the shell took",
        "0.32.0",
        "vllm serve acme/m --compilation-config {mode:3,cudagraph_mode:NONE}",
        "vllm serve: error: argument --compilation-config/-cc: 1 validation error for CompilationConfig\n"
        "  Invalid JSON: key must be a string at line 1 column 2 [type=json_invalid, "
        "input_value='{mode:3,cudagraph_mode:NONE}', input_type=str]\n"
        "    For further information visit https://errors.pydantic.dev/2.14/v/json_invalid",
        {"--compilation-config": '{"mode": 3, "cudagraph_mode": "NONE"}'},
        (),
        'vllm serve acme/m --compilation-config \'{"mode": 3, "cudagraph_mode": "NONE"}\'',
    ),
    Case(
        "a value outside its limits",
        "0.32.0",
        "vllm serve acme/m --tensor-parallel-size 0",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ParallelConfig\ntensor_parallel_size\n"
        "  Input should be greater than or equal to 1 [type=greater_than_equal, input_value=0, input_type=int]\n"
        "    For further information visit https://errors.pydantic.dev/2.14/v/greater_than_equal",
        {},
        ("--tensor-parallel-size",),
        "vllm serve acme/m",
    ),
    Case(
        "a word of a class, misspelt",
        "0.32.0",
        'vllm serve acme/m --speculative-config \'{"method": "ngrams", "num_speculative_tokens": 2}\'',
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\nmethod\n"
        "  Input should be 'ngram', 'medusa', 'mlp_speculator' or 'suffix' [type=literal_error, input_value='ngrams', "
        "input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/literal_error",
        {"--speculative-config.method": "ngram"},
        (),
        'vllm serve acme/m --speculative-config \'{"method": "ngram", "num_speculative_tokens": 2}\'',
    ),
    Case(
        "a number with separators",
        "0.9.2",
        "vllm serve acme/m --max-num-seqs 1,024",
        "vllm: error: argument --max-num-seqs: invalid int value: '1,024'",
        {"--max-num-seqs": 1024},
        (),
        "vllm serve acme/m --max-num-seqs 1024",
    ),
    Case(
        "a percentage",
        "0.32.0",
        "vllm serve acme/m --gpu-memory-utilization 90%",
        "vllm serve: error: argument --gpu-memory-utilization/-gmu: invalid float value: '90%'",
        {"--gpu-memory-utilization": 0.9},
        (),
        "vllm serve acme/m --gpu-memory-utilization 0.9",
    ),
    Case(
        "a word for the default",
        "0.13.0",
        "vllm serve acme/m --max-model-len auto",
        "vllm serve: error: argument --max-model-len: invalid human_readable_int value: 'auto'",
        {},
        ("--max-model-len",),
        "vllm serve acme/m",
        says="'auto' is no number",
    ),
    Case(
        "an empty value",
        "0.11.0",
        "vllm serve acme/m --port ''",
        "vllm serve: error: argument --port: invalid int value: ''",
        {},
        ("--port",),
        "vllm serve acme/m",
        says="an empty value is no number",
    ),
    Case(
        "GiB of host memory",
        "0.10.2",
        "vllm serve acme/m --cpu-offload-gb 16GiB",
        "vllm serve: error: argument --cpu-offload-gb: invalid float value: '16GiB'",
        {"--cpu-offload-gb": 16.0},
        (),
        says="16GiB read as 16.0",
    ),
    Case(
        "a misspelt key of a JSON value",
        "0.32.0",
        'vllm serve acme/m --compilation-config \'{"cudagraph_mod": "NONE", "mode": 0}\'',
        "vllm serve: error: argument --compilation-config/-cc: 1 validation error for CompilationConfig\n"
        "cudagraph_mod\n"
        "  Unexpected keyword argument [type=unexpected_keyword_argument, input_value='NONE', input_type=str]\n"
        "    For further information visit https://errors.pydantic.dev/2.14/v/unexpected_keyword_argument",
        {"--compilation-config.cudagraph_mode": "NONE"},
        ("--compilation-config.cudagraph_mod",),
        'vllm serve acme/m --compilation-config \'{"mode": 0, "cudagraph_mode": "NONE"}\'',
    ),
)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_right_form_is_worked_out(diagnose: Diagnose, case: Case) -> None:
    """The first fix has the flag, value or key that the release takes, on the user's own command line."""
    shown = f"$ {case.command}\n" if case.command else ""
    banner = BANNER.format(case.version) if case.version else ""
    fix = diagnose(shown + banner + USAGE + case.error).findings[0].fixes[0]
    assert dict(fix.set) == dict(case.set)
    assert fix.unset == case.unset
    if case.last_line is not None:
        assert fix.commands[-1] == case.last_line
    assert case.says in fix.tradeoff


@pytest.mark.parametrize(
    ("text", "kind", "meant"),
    [
        ("32,768", "int", (32768, True)),
        ("1 048 576", "count", (1048576, True)),
        ("8192.0", "int", (8192, True)),
        ("1e4", "int", (10000, True)),
        ("'8000'", "int", (8000, True)),
        ("32k", "int", (32000, False)),
        ("32K", "count", (32768, False)),
        ("0,95", "float", (0.95, True)),
        ("95 %", "float", (0.95, True)),
        ("1,500", "float", (1.5, False)),
        ("1e30", "int", None),
        ("50%", "int", None),
        ("0.5", "int", None),
        ("16GiB", "int", None),
        ("high", "float", None),
        ("-5", "int", None),
        ("$PORT", "int", None),
        ("1" * 400, "int", None),
    ],
)
def test_number_meant(text: str, kind: str, meant: tuple[float, bool] | None) -> None:
    """What can stand for one number only is that number; a suffix is a reading, anything else is none."""
    assert number_meant(text, kind) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{level:3}", '{"level": 3}'),
        ("{method: ngram, nested: {a: [x, true]}}", '{"method": "ngram", "nested": {"a": ["x", true]}}'),
        ("{'level': 3, 'on': True}", '{"level": 3, "on": true}'),
        ("{model:acme/draft-1.5,n:3}", '{"model": "acme/draft-1.5", "n": 3}'),
        ("{level:", None),
        ("image=2", None),
        ("{}", None),
        ("{a:b c}", None),
    ],
)
def test_json_meant(text: str, meant: str | None) -> None:
    """Words without quotes get them, Python's form becomes JSON; what is cut or no object stays unknown."""
    assert json_meant(text) == meant


def test_a_fraction_stays_one(diagnose: Diagnose) -> None:
    """A number above one is not offered for a part of the memory."""
    said = "vllm serve: error: argument --gpu-memory-utilization/-gmu: invalid float value: '900%'"
    found = diagnose(BANNER.format("0.32.0") + USAGE + said).findings[0]
    assert not any(fix.set for fix in found.fixes)


@pytest.mark.parametrize("unknown", ["--frobnicate-rate 3", "serve acme/m", "--x"])
def test_no_flag_is_guessed(diagnose: Diagnose, unknown: str) -> None:
    """A name that resembles no flag gets the record's general advice alone."""
    found = diagnose(BANNER.format("0.11.0") + USAGE + f"vllm: error: unrecognized arguments: {unknown}").findings[0]
    assert found.record is not None
    assert found.record.slug == "unrecognized-arguments"
    assert not any(fix.set or fix.unset or fix.commands for fix in found.fixes)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("--tensor-paralel-size", "--tensor-parallel-size"),
        ("--gpu-mem-utilization", "--gpu-memory-utilization"),
        ("--max-num", None),
        ("--enable-prefix-cachng", "--enable-prefix-caching"),
        ("--completely-different", None),
    ],
)
def test_only_a_name_that_stands_apart_is_close(name: str, meant: str | None) -> None:
    """One flag must be close and no other nearly as close."""
    assert CATALOGUE.options is not None
    assert closest(name, CATALOGUE.options.options("0.25.1")) == meant


@pytest.mark.parametrize(
    ("version", "flag", "written"),
    [
        ("0.12.0", "--cudagraph-capture-sizes", "--cudagraph-capture-sizes"),
        ("0.10.2", "--cudagraph-capture-sizes", "--cuda-graph-sizes"),
        ("0.7.3", "--speculative-config.num_speculative_tokens", "--num-speculative-tokens"),
        ("0.7.3", "--mm-encoder-tp-mode", "--mm-encoder-tp-mode"),
    ],
)
def test_former_names_stand_in(version: str, flag: str, written: str) -> None:
    """A fix is written with the name that its flag has in the release, where the value is the same."""
    recipe = FixRecipe(title=f"set {flag}", set={flag: 4})
    found = translated(recipe, release_of(version, CATALOGUE), CATALOGUE.options)
    assert list(found.set) == [written]
    assert found.title == f"set {written}"


def test_renames_are_of_flags_that_were() -> None:
    """Each rename goes from a flag that releases had to one that the next release had, as flag or as key."""
    book = CATALOGUE.options
    assert book is not None
    flags = {flag for release in CATALOGUE.flags for flag in CATALOGUE.flags[release]}
    rows = [rename for flag in sorted(flags) for rename in book.renamed(flag)]
    assert len({rename.old for rename in rows}) >= 20
    releases = list(CATALOGUE.flags)
    for rename in rows:
        last = book.spans(rename.old)[-1][1]
        assert last != releases[-1], rename
        following = releases[releases.index(last) + 1]
        if rename.new is None:
            continue
        base, _, key = rename.new.partition(".")
        options = book.options(following)
        assert base in options, rename
        if key:
            owner = options[base].of
            assert owner is not None, rename
            assert key in book.fields(following, owner), rename
