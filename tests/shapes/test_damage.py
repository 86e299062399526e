"""Logs as pastes, collectors and terminals leave them: the same failure is named, with its numbers, from its own lines."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping

import pytest

from triage.model import Report
from triage.read import strip_ansi

Diagnose = Callable[..., Report]

KV = """\
(EngineCore_DP0 pid=352) INFO 03-09 07:11:40 [gpu_worker.py:298] Available KV cache memory: 2.75 GiB
(EngineCore_DP0 pid=352) ERROR 03-09 07:11:41 [core.py:708] EngineCore failed to start.
(EngineCore_DP0 pid=352) ERROR 03-09 07:11:41 [core.py:708] Traceback (most recent call last):
(EngineCore_DP0 pid=352) ERROR 03-09 07:11:41 [core.py:708]   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 92, in __init__
(EngineCore_DP0 pid=352) ERROR 03-09 07:11:41 [core.py:708]     self._initialize_kv_caches(vllm_config)
(EngineCore_DP0 pid=352) ERROR 03-09 07:11:41 [core.py:708]   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/core/kv_cache_utils.py", line 699, in check_enough_kv_cache_memory
(EngineCore_DP0 pid=352) ERROR 03-09 07:11:41 [core.py:708]     raise ValueError(
(EngineCore_DP0 pid=352) ERROR 03-09 07:11:41 [core.py:708] ValueError: To serve at least one request with the models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger than the available KV cache memory (2.75 GiB). Based on the available memory, the estimated maximum model length is 20016. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
(APIServer pid=1) Traceback (most recent call last):
(APIServer pid=1)   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/utils.py", line 785, in wait_for_engine_startup
(APIServer pid=1)     raise RuntimeError("Engine core initialization failed. "
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
TOKENS = """\
(APIServer pid=9) INFO 03-09 07:10:02 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=9) INFO 03-09 07:10:02 [utils.py:233] non-default args: {'model_tag': 'Qwen/Qwen3-4B', 'model': 'Qwen/Qwen3-4B', 'max_num_batched_tokens': 48, 'max_num_seqs': 96}
(APIServer pid=9) Traceback (most recent call last):
(APIServer pid=9)   File "/opt/venv/lib/python3.12/site-packages/vllm/engine/arg_utils.py", line 1360, in create_engine_config
(APIServer pid=9)     scheduler_config = SchedulerConfig(
(APIServer pid=9)   File "/opt/venv/lib/python3.12/site-packages/pydantic/_internal/_dataclasses.py", line 121, in __init__
(APIServer pid=9)     s.__pydantic_validator__.validate_python(ArgsKwargs(args, kwargs), self_instance=s)
(APIServer pid=9) pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig
(APIServer pid=9)   Value error, max_num_batched_tokens (48) must be greater than or equal to max_num_seqs (96). [type=value_error, input_value=ArgsKwargs((), {'runner_typ..., 'stream_interval': 1}), input_type=ArgsKwargs]
(APIServer pid=9)     For further information visit https://errors.pydantic.dev/2.11/v/value_error
"""
REQUEST = """\
INFO:     Application startup complete.
INFO:     192.0.2.7:50812 - "POST /v1/chat/completions HTTP/1.1" 200 OK
ERROR 03-09 09:40:02 [serving_chat.py:200] Error in preprocessing prompt inputs
ERROR 03-09 09:40:02 [serving_chat.py:200] Traceback (most recent call last):
ERROR 03-09 09:40:02 [serving_chat.py:200]   File "/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/openai/serving_engine.py", line 538, in _validate_input
ERROR 03-09 09:40:02 [serving_chat.py:200]     raise ValueError(
ERROR 03-09 09:40:02 [serving_chat.py:200] ValueError: This model's maximum context length is 8192 tokens. However, you requested 9300 tokens (8788 in the messages, 512 in the completion). Please reduce the length of the messages or completion.
INFO:     192.0.2.7:50812 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request
"""
OOM = """\
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/layers/linear.py", line 202, in create_weights
    weight = ModelWeightParameter(data=torch.empty(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 56.00 MiB. GPU 1 has a total capacity of 23.64 GiB of which 17.31 MiB is free. Including non-PyTorch memory, this process has 23.60 GiB memory in use. Of the allocated memory 23.11 GiB is allocated by PyTorch, and 46.90 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)
"""
LOGS = {
    "kv-cache-smaller-than-one-request": KV,
    "batched-tokens-below-num-seqs": TOKENS,
    "request-longer-than-context": REQUEST,
    "cuda-out-of-memory": OOM,
}
Damage = Callable[[str], str]


def each(change: Callable[[int, str], str]) -> Damage:
    """A change to every line, with its number."""
    return lambda log: "".join(change(n, line) + "\n" for n, line in enumerate(log.splitlines(), 1))


def folded(width: int, indent: str = "", pad: bool = False) -> Damage:
    """Cut at a width, as a terminal does."""

    def wrap(log: str) -> str:
        pieces: list[str] = []
        for line in log.splitlines():
            pieces.append(line[:width])
            step = width - len(indent)
            pieces += [indent + line[at : at + step] for at in range(width, len(line), step)]
        return "".join(f"{piece:<{width}}\n" if pad else f"{piece}\n" for piece in pieces)

    return wrap


def then(*changes: Damage) -> Damage:
    def all_of_them(log: str) -> str:
        for change in changes:
            log = change(log)
        return log

    return all_of_them


def behind(prefix: str, width: int) -> Damage:
    """Wrapped to a width, each piece behind its own prefix."""
    return then(folded(width), each(lambda n, line: prefix + line))


def words_wrapped(width: int) -> Damage:
    return lambda log: "".join(
        f"{part}\n"
        for line in log.splitlines()
        for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    )


def json_parts(size: int) -> Damage:
    """Docker's json-file: an entry holds at most so many bytes; what does not end in a line feed goes on."""

    def parts(log: str) -> str:
        entries = []
        for line in log.splitlines(keepends=True):
            entries += [line[at : at + size] for at in range(0, len(line), size)]
        return "".join(
            json.dumps({"log": e, "stream": "stderr", "time": "2026-03-09T07:11:41.1Z"}) + "\n" for e in entries
        )

    return parts


def cri(size: int) -> Damage:
    """CRI: parts marked P up to the one marked F; the other stream writes in between."""

    def parts(log: str) -> str:
        entries = []
        for n, line in enumerate(log.splitlines()):
            pieces = [line[at : at + size] for at in range(0, len(line), size)] or [""]
            for m, piece in enumerate(pieces):
                tag = "F" if m == len(pieces) - 1 else "P"
                entries.append(f"2026-03-09T07:11:41.{n:06}{m:03}Z stderr {tag} {piece}")
                if n % 3 == 0:
                    entries.append(
                        f'2026-03-09T07:11:41.{n:06}{m:03}Z stdout F INFO:     192.0.2.7:4{n:03} - "GET /health HTTP/1.1" 200 OK'
                    )
        return "".join(f"{entry}\n" for entry in entries)

    return parts


def fluent(**mark: str) -> Damage:
    """A collector's JSON whose partial entries carry a mark."""

    def parts(log: str) -> str:
        entries = []
        for line in log.splitlines():
            pieces = [line[at : at + 70] for at in range(0, len(line), 70)] or [""]
            for m, piece in enumerate(pieces):
                last = m == len(pieces) - 1
                more = {} if last and "partial_message" in mark else {"logtag": "F"} if last else mark
                entries.append({"log": piece, "stream": "stderr", **more})
        return "".join(json.dumps(entry) + "\n" for entry in entries)

    return parts


BAR = "Capturing CUDA graph shapes:   0%|          | 0/11 [00:00<?, ?it/s]"
SHARDS = "Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:01<00:00,  2.11it/s]"
PROMPTS = "Processed prompts:   0%|          | 0/3 [00:00<?, ?it/s, est. speed input: 0.00 toks/s, output: 0.00 toks/s]"
BLOCKS = "Downloading shards:  67%|██████▋   | 2/3 [00:31<00:15, 15.61s/it]"


def glued(bar: str) -> Damage:
    """A bar without a line end: what is logged next stands right behind it, here every third line and the last two."""
    return each(lambda n, line: bar + line if n % 3 == 0 or "Error: " in line else line)


COLOURS = {
    "raw": "\x1b[{}m",
    "ESC stripped": "[{}m",
    "\\x1b": "\\x1b[{}m",
    "\\u001b": "\\u001b[{}m",
    "^[": "^[[{}m",
    "#033": "#033[{}m",
    "\\033": "\\033[{}m",
    "\\e": "\\e[{}m",
    "a picture of ESC": "␛[{}m",
    "replacement quote": "‹[{}m",
    "replacement character": "�[{}m",
}


def coloured(code: str) -> Damage:
    def colour(n: int, line: str) -> str:
        on, off = code.format("1;36"), code.format("0")
        line = re.sub(r"^(\(\w+ pid=\d+\))", lambda found: on + found[0] + off, line)
        return re.sub(r"(?<= )(ERROR|INFO)(?= )", lambda found: code.format(31) + found[0] + code.format(39), line)

    return each(colour)


def numbers_coloured(log: str) -> str:
    """A grep or a highlighter colours each number, in the middle of words too."""
    return re.sub(r"\d+", lambda found: f"\x1b[1;34m{found[0]}\x1b[0m", log)


ROWS: dict[str, Damage] = {
    # hard wraps
    **{f"A7 hard wrap at {width}": folded(width) for width in (80, 93, 100, 120, 132, 160, 180, 200, 250)},
    **{f"A7 hard wrap at {width}, continuation indented": folded(width, "    ") for width in (80, 100, 120, 160)},
    "A7 hard wrap, indented by two": folded(110, "  "),
    "A5 padding to terminal width": folded(100, pad=True),
    "A5 padding without a wrap": each(lambda n, line: f"{line:<400}"),
    "B2 wrapped behind a compose prefix": behind("vllm-1  | ", 100),
    "B2 wrapped in a terminal program's border": then(folded(116, pad=True), each(lambda n, line: f"│ {line} │")),
    "B2 wrapped in k9s, border on the left only": behind("│ ", 116),
    "B2 wrapped behind kubectl --prefix": behind("[pod/vllm-0/vllm] ", 120),
    "B2 wrapped behind timestamps": then(folded(120), each(lambda n, line: f"2026-03-09T07:11:41.{n:09}Z {line}")),
    "B2 wrapped twice at two widths": then(folded(160), folded(100)),
    "B2 wrapped twice, narrow first": then(folded(100), folded(160)),
    "A7 wrapped and coloured": then(coloured("\x1b[{}m"), folded(120)),
    "A7 coloured when it was wrapped": then(folded(100), each(lambda n, line: f"\x1b[31m{line}\x1b[0m")),
    "A7 wrapped and quoted": then(folded(100), each(lambda n, line: f"> {line}")),
    "A7 wrapped between words": words_wrapped(100),
    "A7 wrapped at 120 in CRLF": lambda log: folded(120)(log).replace("\n", "\r\n"),
    # partial lines
    "B1 CRI parts": cri(90),
    "B1 CRI parts, short": cri(37),
    "B1 Docker json-file pieces": json_parts(100),
    "B1 Docker json-file pieces, short": json_parts(41),
    "B1 fluentd partial_message": fluent(partial_message="true"),
    "B1 fluent-bit logtag": fluent(logtag="P"),
    # redraws
    **{
        f"A5 next line glued to a bar: {bar.partition(':')[0]}": glued(bar)
        for bar in (BAR, SHARDS, PROMPTS, BLOCKS, "Processed prompts:   0%|   | 0/3")
    },
    "A5 bar joined by CR": each(lambda n, line: f"{BAR}\r{SHARDS}\r{line}" if n % 2 else line),
    "A5 bar and erase": each(lambda n, line: f"{BAR}\x1b[A\x1b[K\r{line}"),
    "A5 CRLF": lambda log: log.replace("\n", "\r\n"),
    "C3 CR CR LF": lambda log: log.replace("\n", "\r\r\n"),
    "B2 ^M at line ends": lambda log: log.replace("\n", "^M\n"),
    "lone CR between lines": lambda log: log.replace("\n", "\r"),
    "NUL between characters": each(lambda n, line: line.replace(" ", "\0 ")),
    "vertical tab and form feed": each(lambda n, line: f"\x0c{line}\x0b"),
    "U+2028 for line ends": lambda log: log.replace("\n", "\u2028"),
    "U+0085 for line ends": lambda log: log.replace("\n", "\x85"),
    "byte order mark in the middle": each(lambda n, line: f"\ufeff{line}"),
    "backspaces": each(lambda n, line: line.replace("max", "maz\bx").replace("memory", "nn\b\bmemory")),
    "cursor moved back to column 1": each(lambda n, line: f"Loading 10%\x1b[1G\x1b[2K{line}"),
    # colours
    **{f"A5 colour spelled: {name}": coloured(code) for name, code in COLOURS.items()},
    "A5 numbers coloured": numbers_coloured,
    "A5 links (OSC 8)": lambda log: re.sub(
        r"(/opt/\S+\.py)", lambda f: f"\x1b]8;;file://{f[0]}\x1b\\{f[0]}\x1b]8;;\x1b\\", log
    ),
    "A5 half a sequence at line ends": each(lambda n, line: f"{line}\x1b[0"),
    "A5 a bare ESC at line ends": each(lambda n, line: f"{line}\x1b"),
    "A5 half a colour code, ESC lost, at line ends": each(lambda n, line: f"\x1b[36m{line}\x1b[3"),
    # pastes
    "A7 one blank added": each(lambda n, line: f" {line}"),
    "A7 leading blanks lost": each(lambda n, line: line.lstrip()),
    "A7 doubled blanks collapsed": each(lambda n, line: re.sub(" +", " ", line)),
    "A7 tabs for blanks": each(lambda n, line: line.replace("    ", "\t")),
    "A7 blockquote": each(lambda n, line: f"> {line}"),
    "A7 blockquote in a blockquote": each(lambda n, line: f"> > {line}"),
    "A7 blockquote without blanks": each(lambda n, line: f">>{line}"),
    "A7 shell prompt and nohup": lambda log: (
        f"(base) me@node7:~$ vllm serve x &> log &\nnohup: ignoring input\n{log}(base) me@node7:~$ \n"
    ),
    "A7 fence": lambda log: f"```python-traceback\n{log}```\n",
    "A7 fence of tildes": lambda log: f"~~~\n{log}~~~\n",
    "A7 details": lambda log: f"<details><summary>log</summary>\n\n```\n{log}```\n</details>\n",
    "A7 details and pre, glued": lambda log: f"<details><summary>The output</summary><pre>{log}</pre></details>\n",
    "A7 <br> at line ends": each(lambda n, line: f"{line}<br>"),
    "A7 <br/> for line ends": lambda log: log.replace("\n", "<br/>"),
    "A7 &nbsp; for blanks": each(lambda n, line: line.replace("  ", "&nbsp; ")),
    "A7 indented by four": each(lambda n, line: f"    {line}"),
    "A7 list items": each(lambda n, line: f"- {line}"),
    "A7 list items with stars": each(lambda n, line: f"* {line}"),
    "A7 list item on the first line": lambda log: f"1. {log}",
    "A7 numbered list": each(lambda n, line: f"{n}. {line}"),
    "A7 each line in backticks": each(lambda n, line: f"`{line.replace('`', '')}`"),
    "A7 underscores to stars": each(lambda n, line: re.sub(r"__(\w+?)__", r"**\1**", line)),
    "A7 underscores escaped": each(lambda n, line: line.replace("_", "\\_").replace("*", "\\*")),
    "A7 backticks lost": each(lambda n, line: line.replace("`", "")),
    "A7 backticks doubled": each(lambda n, line: line.replace("`", "\\``")),
    "A7 smart quotes": each(lambda n, line: line.replace("'", "’").replace(' "', " “").replace('",', "”,")),
    "A7 en dashes": each(lambda n, line: line.replace("--", "–")),
    "A7 non-breaking blanks": each(lambda n, line: line.replace("  ", "\u00a0\u00a0").replace("0 ", "0\u00a0")),
    "A7 all blanks non-breaking": each(lambda n, line: line.replace(" ", "\u00a0")),
    "A7 zero-width characters": each(lambda n, line: line.replace("_", "_\u200b").replace("(", "\u2060(\u200d")),
    "A7 soft hyphens": each(lambda n, line: line.replace("max", "ma\u00adx")),
    "A7 full-width forms": each(lambda n, line: line.replace("(", "（").replace("),", "）,")),
    "A7 lower-cased": each(lambda n, line: line.lower()),
    "A7 HTML entities": each(lambda n, line: line.replace("&", "&amp;").replace('"', "&quot;").replace("'", "&#39;")),
    "A7 HTML entities twice": each(
        lambda n, line: line.replace('"', "&amp;quot;").replace("'", "&amp;#39;").replace("<", "&amp;lt;")
    ),
    "A7 blank line after every line": each(lambda n, line: f"{line}\n"),
    "A7 blank line after every line, CRLF": lambda log: log.replace("\n", "\r\n\r\n"),
    "A7 paths replaced by stars": lambda log: log.replace("/opt/venv/lib/python3.12/site-packages", "***"),
    "A7 paths replaced by a name": lambda log: log.replace("/opt/venv/lib/python3.12", "<env_root>"),
    "A7 paths shortened": lambda log: log.replace("/opt/venv/lib/python3.12/site-packages", "..."),
}


WITHOUT_PROCESS = {"A7 lower-cased", "A7 full-width forms"}  # the process tag is not recognised in them


# Values that are read by their exact form: units in capitals, a number and its unit on one line.
TEXTS_CUT = {("A7 lower-cased", "cuda-out-of-memory"), ("A7 wrapped between words", "cuda-out-of-memory")}


def plainly(captures: Mapping[str, object]) -> dict[str, object]:
    """Captures in lower case and without blanks, and of long texts only the beginning: their end may be cut."""
    return {
        name: re.sub(r"[\s\\]+", "", value).lower()[:40] if isinstance(value, str) else value
        for name, value in captures.items()
    }


def shown_of(log: str) -> set[str]:
    """What the lines of a log look like on a screen: its states, where it is redrawn, as well as the whole."""
    log = log.replace("\0", "")
    states = re.split(r"[\n\r\x0b\x0c\x85\u2028]|\x1b\[1G\x1b\[2K", log)
    return {strip_ansi(line) for line in (*states, *log.split("\n"))}


@pytest.mark.parametrize("slug", LOGS)
@pytest.mark.parametrize("row", ROWS)
def test_damage_does_not_matter(diagnose: Diagnose, row: str, slug: str) -> None:
    """The damaged log gives the root cause, the numbers and the status of the log as it was; evidence is its lines."""
    damaged = ROWS[row](LOGS[slug])
    whole, report = diagnose(LOGS[slug]), diagnose(damaged)
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [root.record.slug if root.record else root.message for root in roots] == [slug]
    if (row, slug) in TEXTS_CUT:
        return
    assert plainly(roots[0].captures) == plainly(whole.findings[0].captures)
    if row not in WITHOUT_PROCESS:
        assert (roots[0].process, roots[0].pid) == (whole.findings[0].process, whole.findings[0].pid)
    assert report.status == "cause_found"
    assert roots[0].evidence
    assert [line for line in roots[0].evidence if line not in shown_of(damaged)] == []


def ranks(first: str, second: str) -> str:
    """The same traceback of two ranks, line by line in turn."""
    lines = [line.partition(") ")[2].partition("] ")[2] for line in KV.splitlines()[2:8]]
    return "".join(f"{first}{line}\n{second}{line}\n" for line in lines)


@pytest.mark.parametrize(
    "tags",
    [("(Worker_TP0 pid=11) ", "(Worker_TP1 pid=12) "), ("[rank0]: ", "[rank1]: "), ("vllm-1  | ", "vllm-2  | ")],
    ids=["B2 process tags", "B2 torch ranks only", "B2 services of compose"],
)
def test_interleaved_ranks(diagnose: Diagnose, tags: tuple[str, str]) -> None:
    """Two processes fail alike, their lines zipped: one cause with its numbers, and both counted where it is one run."""
    report = diagnose(ranks(*tags))
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert {root.record.slug for root in roots if root.record} == {"kv-cache-smaller-than-one-request"}
    assert all(root.captures["kv_needed_gib"] == 5.62 for root in roots)
    assert sum(root.count for root in roots) == 2


def test_native_output_inside_a_traceback(diagnose: Diagnose) -> None:
    """B2 untagged native output inside a tagged traceback leaves it whole."""
    lines = KV.splitlines()
    lines[4:4] = ["nanobind: leaked 2 instances!", " - leaked instance 0x7f0 of type x"]
    report = diagnose("\n".join(lines))
    assert report.findings[0].record is not None
    assert report.findings[0].record.slug == "kv-cache-smaller-than-one-request"
    assert report.findings[0].process == "EngineCore_DP0"


@pytest.mark.parametrize(
    "mark", ["...", "\u2026", "[truncated]", "<snip>", "... (truncated)", "(120 lines omitted)", "[...]"]
)
def test_cut_message(diagnose: Diagnose, mark: str) -> None:
    """A7 an excerpt cut in the middle of its message: what it shows is named, what was cut is not made up."""
    at = KV.index("which is larger")
    report = diagnose(KV[:at] + mark + "\n")
    root = report.findings[0]
    assert root.record is not None
    assert (root.record.slug, root.confidence) == ("kv-cache-smaller-than-one-request", "truncated")
    assert (root.captures["max_seq_len"], root.captures["kv_needed_gib"]) == (40960, 5.62)
    assert root.captures["kv_available_gib"] is None
