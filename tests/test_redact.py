"""Secrets and prompts never leave; private data does not leave in what is shared; all else stays."""

from __future__ import annotations

import json
import string
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from triage.model import Finding, Fix, InputFacts, Location, RecordRef, Report, Run
from triage.redact import redact
from triage.redact.names import kind_of_name, kind_of_slip
from triage.render import FORMATS, Options, render

HF = "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567"


def _said(text, *, private=False):
    """The text as a report has it after redaction, and what was counted."""
    report = redact(Report("healthy", missing=(text,)), private=private)
    return report.missing[0], dict(report.redacted)


def _finding(**changes):
    return replace(Finding(role="root_cause", message="it failed", source="stdin", line=1), **changes)


def _fix(*commands, **changes):
    report = Report("cause_found", findings=(_finding(fixes=(Fix("x", commands=commands, **changes),)),))
    return redact(report, private=False).findings[0].fixes[0]


_SECRETS = [
    (f"using {HF} now", "using <redacted:token> now"),
    ("key sk-proj-abc123def456ghi789", "key <redacted:key>"),
    ("AKIAIOSFODNN7EXAMPLE", "<redacted:key>"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "<redacted:token>"),
    ("Authorization: Bearer abc", "Authorization: Bearer <redacted:token>"),
    ("{'authorization': 'Bearer abc'}", "{'authorization': 'Bearer <redacted:token>'}"),
    ("bearer abc-123-def", "bearer <redacted:token>"),
    ("Namespace(api_key='k', model='m')", "Namespace(api_key='<redacted:key>', model='m')"),
    ("api_key=['k', 'l'], x=1", "api_key=[<redacted:key>], x=1"),
    ("api_key=SecretStr('k')", "api_key=SecretStr('<redacted:key>')"),
    ('{"api_key": "k"}', '{"api_key": "<redacted:key>"}'),
    (r"{\"api_key\": \"k\"}", r"{\"api_key\": \"<redacted:key>\"}"),
    ("vllm serve m --api-key k --port 1", "vllm serve m --api-key <redacted:key> --port 1"),
    ("--api-key=k", "--api-key=<redacted:key>"),
    ("['--api-key', 'k']", "['--api-key', '<redacted:key>']"),
    ("- --api-key\n- k", "- --api-key\n- <redacted:key>"),
    ("- name: HF_TOKEN\n  value: k", "- name: HF_TOKEN\n  value: <redacted:token>"),
    ("HF_TOKEN=k VLLM_API_KEY=l", "HF_TOKEN=<redacted:token> VLLM_API_KEY=<redacted:key>"),
    ("AWS_SECRET_ACCESS_KEY=a/b+c==", "AWS_SECRET_ACCESS_KEY=<redacted:key>"),
    ("X-Api-Key: abc", "X-Api-Key: <redacted:key>"),
    ("http://bob:pw@proxy:3128/", "http://<redacted:password>@proxy:3128/"),
    ("?token=abc&x=1", "?token=<redacted:token>&x=1"),
    ("x password=hunter2 y", "x password=<redacted:password> y"),
    ("passwd: hunter2", "passwd: <redacted:password>"),
    ("secret=abc", "secret=<redacted:secret>"),
    (
        "docker run -e db_pass=q7Zk9Wv3 -e DB_PASS=k x",
        "docker run -e db_pass=<redacted:password> -e DB_PASS=<redacted:password> x",
    ),
    ("pass=hunter2, pwd=hunter2", "pass=<redacted:password>, pwd=<redacted:password>"),
    ("apiKey=k1, 'clientSecret': 'k2'", "apiKey=<redacted:key>, 'clientSecret': '<redacted:secret>'"),
    ("Cookie: session=abc; csrf=d/e==", "Cookie: <redacted:secret>"),
    ("{'set-cookie': 'session=abc; Path=/'}", "{'set-cookie': '<redacted:secret>'}"),
    ("session_cookie=abc", "session_cookie=<redacted:secret>"),
    ("unrecognized arguments: --hf-tokn=q7Zk9Wv3", "unrecognized arguments: --hf-tokn=<redacted:token>"),
    (
        "--hf_tokne q7 --api-ky q8 --my-secrt 'q9'",
        "--hf_tokne <redacted:token> --api-ky <redacted:key> --my-secrt '<redacted:secret>'",
    ),
    ("unrecognized arguments: --api-key q7Zk9Wv3", "unrecognized arguments: --api-key <redacted:key>"),
    ("--api-key k1 q7Zk9Wv3 --port 80", "--api-key <redacted:key> <redacted:key> --port 80"),
    (f"token {HF[:20]}\n{HF[20:]} is bad", "token <redacted:token> is bad"),
    (f"token {HF[:9]}\n   | {HF[9:]}\nbad", "token <redacted:token>\nbad"),
    ("sk-proj-abcdefghij12\n34567890abcdef no", "<redacted:key> no"),
    ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", "<redacted:token>"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nx", "<redacted:key>\nx"),
    ("-----BEGIN PRIVATE KEY-----\ncut off", "<redacted:key>"),
    ("s3://b/m?X-Amz-Signature=abc123&y", "s3://b/m?X-Amz-Signature=<redacted:key>&y"),
    (
        "Received request c-1: prompt: 'it\\'s me', params: S",
        "Received request c-1: prompt: '<redacted:prompt>', params: S",
    ),
    ('prompt: "cut off', 'prompt: "<redacted:prompt>'),
    ("prompt_token_ids: [1, 2], x", "prompt_token_ids: [<redacted:prompt>], x"),
    ("Generated response c-1: output: 'hi', x", "Generated response c-1: output: '<redacted:prompt>', x"),
    ("input_value={'role': 'user', 'content': 'hi'}", "input_value={'role': 'user', 'content': '<redacted:prompt>'}"),
]


@pytest.mark.parametrize(("text", "expected"), _SECRETS)
def test_a_secret_becomes_a_placeholder_and_its_surroundings_stay(text, expected):
    """Each way to write a secret or a prompt is known; only the secret itself goes, and it is counted."""
    said, counted = _said(text)
    assert said == expected
    assert sum(counted.values()) >= 1


_NO_SECRETS = [
    'MountVolume.SetUp failed for volume "hf-token" : secret "hf-token-prod" not found',
    'secrets "registry-token" is forbidden, secret/registry-token: timed out, registry-token: not found',
    "couldn't find key HF_TOKEN in Secret default/registry-credentials",
    "give the client the value of --api-key or VLLM_API_KEY: OpenAI(base_url=..., api_key=...)",
    'OpenAI(base_url="http://localhost:8000/v1", api_key="EMPTY"), `Authorization: Bearer KEY`.',
    "--max-num-batched-tokens 64 --max-num-batched-tokens=8192 --max-num-batched-token 64, num_speculative_tokens=4",
    "--tokenizer Qwen/Qwen3-8B --tokenizer-mode auto --eos-token-id 2 --allow-credentials serve",
    "first pass: loading, forward pass=2, pass 3 of 4, pass: fusion; pass_config={'x': 1}, post_grad_custom_post_pass=Fusion",
    "PWD=/workspace OLDPWD=/root pwd=. cookie: none",
    "--api-key <key> meta-llama/Llama-3.1-8B-Instruct",
    "max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).",
    "hf_overrides=None, hf_config_path=None, hf_transfer, hf_processor_kwargs",
    "eos_token='</s>', image_token='<image>', max_tokens=512, stop_token_ids=[1], tokenizer='Qwen/Qwen3-8B'",
    "api_key=None, hf_token=None, token=True, password=''",
    "self.token = token, api_key=self.api_key, api_key: str | None",
    "Unexpected token: foo",
    "Bearer authentication is required",
    "use --api-key to set one, or --hf-token.",
    "KeyError: 'layers.0.weight', key='x', monkey=3, keyword=y",
    "prompt: None, params: SamplingParams(n=1)",
    "--limit-mm-per-prompt image=4",
    "task-sk-learn-classifier-model",
    "vLLM 0.11.0.1, torch==2.6.0.1, vllm/config/scheduler.py:332",
    "https://github.com/vllm-project/vllm/blob/c794754062d49a8fdb63ab3c5215b488b865030c/vllm/config/scheduler.py#L246",
    'HF_TOKEN="$HF_TOKEN" vllm serve x --api-key "$VLLM_API_KEY"',
]


@pytest.mark.parametrize("text", _NO_SECRETS)
@pytest.mark.parametrize("private", [False, True])
def test_what_is_no_secret_stays(text, private):
    """Flags, releases, names of models and files, code and prose are left alone."""
    assert _said(text, private=private) == (text, {})


_PRIVATE = [
    ("10.0.0.5:8000 and 192.168.1.9.", "<redacted:address>:8000 and <redacted:address>."),
    ("ip=10.0.3.12)", "ip=<redacted:address>)"),
    ("tcp://[2001:db8::1]:8000", "tcp://[<redacted:address>]:8000"),
    ("fe80::1: refused", "<redacted:address>: refused"),
    ("alice@gpu-01.corp.example:~$ ls", "<redacted:user>@<redacted:host>:~$ ls"),
    ("/home/alice/models/x.py:12", "/home/<redacted:user>/models/x.py:12"),
    ("C:\\Users\\bob\\x.py", "C:\\Users\\<redacted:user>\\x.py"),
    ("/Users/carol/y", "/Users/<redacted:user>/y"),
    ("ip-10-0-3-12.ec2.internal", "<redacted:host>"),
    ("node7:12:34 [0] NCCL WARN x", "<redacted:host>:12:34 [0] NCCL WARN x"),
    ("vllm serve m --host gpu-07.corp --port 1", "vllm serve m --host <redacted:host> --port 1"),
    (
        "--master-addr=node3 --data-parallel-address node4",
        "--master-addr=<redacted:host> --data-parallel-address <redacted:host>",
    ),
    ("args:\n- --host\n- gpu-07", "args:\n- --host\n- <redacted:host>"),
    ("['--host', 'gpu-07']", "['--host', '<redacted:host>']"),
    ("LLM(host='gpu-07', port=1)", "LLM(host='<redacted:host>', port=1)"),
    ("MASTER_ADDR=node-1.local VLLM_HOST_IP=node9", "MASTER_ADDR=<redacted:host> VLLM_HOST_IP=<redacted:host>"),
    ("curl http://vllm.prod.svc:8000/v1", "curl http://<redacted:host>:8000/v1"),
    ("--otlp-traces-endpoint grpc://otel:4317", "--otlp-traces-endpoint grpc://<redacted:host>:4317"),
    ("HTTPSConnectionPool(host='hub.corp', port=443)", "HTTPSConnectionPool(host='<redacted:host>', port=443)"),
    ("Failed to resolve 'hub.corp' ([Errno -2]", "Failed to resolve '<redacted:host>' ([Errno -2]"),
    ("dial tcp: lookup reg.corp on 10.0.0.2:53", "dial tcp: lookup <redacted:host> on <redacted:address>:53"),
    ("at http://gpu-07:1, later gpu-07 and gpu-070", "at http://<redacted:host>:1, later <redacted:host> and gpu-070"),
    ("May 20 14:20:23 gpu3 vllm[32]: ERROR", "May 20 14:20:23 <redacted:host> vllm[32]: ERROR"),
]


@pytest.mark.parametrize(("text", "expected"), _PRIVATE)
def test_private_data_goes_only_where_it_is_shared(text, expected):
    """Terminal output keeps addresses and names, which its fixes need; what is shared does not."""
    assert _said(text) == (text, {})
    assert _said(text, private=True)[0] == expected


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1 0.0.0.0 localhost ::1",
        "--host 0.0.0.0 --host localhost http://localhost:8000/health host=None, host='auto' ipc:///tmp/x s3://bucket/m",
        "https://huggingface.co/m https://cdn-lfs.hf.co/x https://docs.vllm.ai/y https://download.pytorch.org/whl",
        "0.11.0.1 v1.2.3.4 vLLM 1.2.3.4 version 10.1.2.3 nvidia-curand-cu12==10.3.5.147 libcudnn.so.9.1.0.70",
        "12:34:56 c10::Error std::vector a.py:3:4 0000:83:00.0 ProcessGroupNCCL.cpp:1515",
        "vllm/vllm-openai@sha256:abcdef0123",
        "Qwen2.5-1.5B meta-llama/Llama-3.1-8B-Instruct",
    ],
)
def test_what_only_looks_private_stays(text):
    """This machine's own addresses, releases, times, places in code and names of models are not private."""
    assert _said(text, private=True) == (text, {})


def test_a_secret_found_once_is_taken_out_everywhere():
    """A key known by its argument's name goes from a message that shows it bare."""
    report = Report(
        "cause_found",
        findings=(_finding(message="401 for correct-horse-battery", evidence=("x correct-horse-battery",)),),
        runs=(Run(args={"api_key": ["correct-horse-battery", "short"], "nested": {"hf_token": "abcdefghij"}}),),
        missing=("abcdefghij",),
    )
    clean = redact(report, private=False)
    assert "correct-horse" not in repr(clean)
    assert "abcdefghij" not in repr(clean)
    assert clean.runs[0].args["api_key"] == ["<redacted:key>", "<redacted:key>"]
    assert clean.redacted == {"keys": 2, "tokens": 1}


def test_the_catalogues_own_words_stay():
    """No summary, title, step or note of a record has anything in it that is taken for a secret."""
    from triage import catalogue

    for cause in catalogue.load().causes:
        solutions = tuple(Fix(each) for each in cause.record.get("solutions") or ())
        fixes = tuple(Fix(each.title, steps=each.steps, tradeoff=each.tradeoff) for each in cause.fixes)
        finding = _finding(title=cause.title, cause=cause.summary, fixes=(*fixes, *solutions))
        assert redact(Report("cause_found", (finding,)), private=False).findings == (finding,)


def test_a_host_goes_wherever_it_stands():
    """What an argument, a fix or a URL says to be a host goes from every other text of a shared report too."""
    fix = Fix("x", set={"--host": "gpu-07"}, env={"MASTER_ADDR": "node3"}, commands=("vllm serve m --host gpu-07",))
    finding = _finding(message="cannot bind gpu-07", fixes=(fix,))
    clean = redact(Report("cause_found", (finding,), runs=(Run(args={"host": "gpu-07"}),)), private=True)
    assert "gpu-07" not in repr(clean)
    assert "node3" not in repr(clean)
    assert clean.redacted == {"hosts": 2}
    assert "gpu-07" in repr(redact(Report("cause_found", (finding,)), private=False))


def test_a_capture_that_names_a_secret_is_no_secret():
    """The name of a Kubernetes Secret stays, also where a record calls its hole so."""
    finding = _finding(message='secret "hf-registry-prod" not found', captures={"secret": "hf-registry-prod"})
    clean = redact(Report("cause_found", (finding,)), private=False)
    assert clean.findings[0].message == finding.message
    assert clean.findings[0].captures == finding.captures


def test_a_short_key_takes_no_words_out():
    """A key like "model" is taken out where it is named, not wherever the word stands."""
    report = Report("healthy", runs=(Run(args={"api_key": "model"}, model="model"),), missing=("the model",))
    clean = redact(report, private=False)
    assert clean.runs[0].args == {"api_key": "<redacted:key>"}
    assert clean.missing == ("the model",)


def test_a_secret_wrapped_over_two_quoted_lines_goes_from_both():
    """Where a terminal wrapped a line within a token, neither part of it is quoted."""
    report = Report("cause_found", findings=(_finding(message=HF, evidence=(f"token {HF[:20]}", f"  {HF[20:]} end")),))
    assert redact(report, private=False).findings[0].evidence == (
        "token <redacted:token>",
        "  <redacted:token> end",
    )


def test_a_secret_wrapped_in_the_evidence_alone_goes_whole():
    """Where no other text has it whole, the quoted lines together tell it, and none of its pieces is left anywhere."""
    lines = (f"x {HF[:14]}", HF[14:28], f"{HF[28:]} y")
    finding = _finding(message="no", evidence=lines, title=f"why {HF[14:28]}")
    clean = redact(Report("cause_found", findings=(finding,)), private=False)
    assert clean.findings[0].evidence == ("x <redacted:token>", "<redacted:token>", "<redacted:token> y")
    assert clean.findings[0].title == "why <redacted:token>"
    assert clean.redacted == {"tokens": 1}


def test_what_follows_a_token_on_the_next_line_stays():
    """A token at the end of a line is not taken to go on with what the next line begins with."""
    for after in ("INFO 10-14 09:12:33", "EngineCore_DP0 died", "Worker_TP1 pid=3", "File x.py"):
        assert _said(f"using {HF}\n{after}")[0] == f"using <redacted:token>\n{after}"
        assert _said(f"using {HF[:20]}\n{after}")[0] == f"using <redacted:token>\n{after}"


def test_only_the_flags_of_secrets_are_taken_for_such():
    """Of all flags that any release has, those with a key or token behind them, and none by a slip."""
    data = json.loads((Path(__file__).parent.parent / "patterns" / "flags" / "vllm.json").read_text(encoding="utf-8"))
    assert {flag for flag in data["flags"] if kind_of_name(flag)} == {"--api-key", "--hf-token"}
    assert not [flag for flag in data["flags"] if kind_of_slip(flag.lstrip("-"))]


def test_a_lower_case_variable_of_a_command_is_kept_in_itself():
    """docker -e db_pass=...: the command stays ready to paste."""
    fix = _fix("docker run -e db_pass=q7Zk9Wv3Lm x --port 1", env={"db_pass": "q7Zk9Wv3Lm"})
    assert fix.commands == ('docker run -e db_pass="$db_pass" x --port 1',)
    assert fix.env == {"db_pass": "$db_pass"}


def test_commands_keep_secrets_in_variables():
    """Flag and variable tell which variable holds the secret: the command stays ready to paste."""
    fix = _fix(
        "HF_TOKEN=abc vllm serve m --api-key k1 --port 8000",
        "docker run -e HF_TOKEN='a b' -e WANDB_API_KEY=w vllm/vllm-openai --api-key=k2 --hf-token \"x\"",
    )
    assert fix.commands == (
        'HF_TOKEN="$HF_TOKEN" vllm serve m --api-key "$VLLM_API_KEY" --port 8000',
        'docker run -e HF_TOKEN="$HF_TOKEN" -e WANDB_API_KEY="$WANDB_API_KEY" vllm/vllm-openai '
        '--api-key="$VLLM_API_KEY" --hf-token "$HF_TOKEN"',
    )
    assert fix.missing == ()


@pytest.mark.parametrize(
    "command",
    [f"curl -H 'x: {HF}' y", "args:\n- --api-key\n- k1k1", "vllm serve https://a:b@c/m", "LLM(hf_token='abc')"],
)
def test_a_command_with_a_secret_that_nothing_names_is_dropped(command):
    """No placeholder is printed to be pasted: the command goes, and the fix says what it lacks."""
    fix = _fix(command, "vllm serve other", verify=f"curl -H 'x: {HF}' y")
    assert fix.commands == ("vllm serve other",)
    assert fix.verify is None
    assert len(fix.missing) == 2


def test_flags_and_variables_of_a_fix_become_variables():
    """What a fix sets is shown without the secret, as the variable where that is known."""
    fix = _fix(set={"--api-key": "k", "--port": 8000}, env={"HF_TOKEN": HF, "OTHER": HF, "GONE": None})
    assert fix.set == {"--api-key": "$VLLM_API_KEY", "--port": 8000}
    assert fix.env == {"HF_TOKEN": "$HF_TOKEN", "OTHER": "<redacted:token>", "GONE": None}


def test_an_example_request_in_a_fix_is_no_prompt():
    """The catalogue's own request stays in the check that it belongs to."""
    check = """curl localhost:8000/v1/completions -d '{"model": "m", "prompt": "Hello"}'"""
    assert _fix("vllm serve m", verify=check).verify == check


def test_a_shared_command_keeps_its_shape_and_says_what_to_put_back():
    """A user's name in a path does not cost the command; a note says that something was taken out."""
    report = Report("cause_found", findings=(_finding(fixes=(Fix("x", commands=("vllm serve /home/al/m",)),)),))
    fix = redact(report, private=True).findings[0].fixes[0]
    assert fix.commands == ("vllm serve /home/<redacted:user>/m",)
    assert fix.note == "put back what was taken out"


def test_names_of_ours_and_numbers_stay():
    """Slugs, ids, words, releases and numbers are not looked into."""
    report = Report(
        "cause_found",
        findings=(
            _finding(
                record=RecordRef("hf_0123456789abcdef", "slug", "t"),
                location=Location("vllm/x.py", 3, None, "10.1.2.3", "catalogue"),
                captures={"api_key": 5, "n": 1.5, "b": True, "none": None},
                fingerprint="sk-0123456789abcdef0",
            ),
        ),
        runs=(Run(vllm_version="10.1.2.3", args={"n": [1, (2.5, None)], "m": {"x": {1, 2}}}),),
        input=InputFacts(lines=3, bytes=4, sources=("stdin",)),
    )
    assert redact(report, private=True) == report


def test_counts_add_to_those_there_are():
    """A second pass with more to take out keeps what the first one counted."""
    report = Report("healthy", missing=("password=abc at 10.0.0.9 and 10.0.0.9",))
    first = redact(report, private=False)
    assert first.redacted == {"passwords": 1}
    assert redact(first, private=True).redacted == {"addresses": 1, "passwords": 1}


_LETTERS = string.ascii_letters + string.digits
_body = st.text(_LETTERS, min_size=30, max_size=40)
_secret = st.one_of(
    _body.map("hf_{}".format),
    _body.map("sk-1{}".format),
    _body.map("ghp_{}".format),
    _body.map("eyJabcdefgh.{}.sig".format),
)
_around = st.text(st.sampled_from(" '\"(),:\n=[]{}\\x.-"), max_size=6)


def _everywhere(secret, left, right):
    """A report with the secret, in its surroundings, in every text that comes from a log."""
    text = f"{left} {secret} {right}"
    finding = _finding(
        message=text,
        source=text,
        title=text,
        cause=text,
        exception_class=text,
        captures={"x": text, secret: 1},
        location=Location(text, 1, text, None, "traceback", f"https://x/{secret}"),
        candidates=(text,),
        fixes=(
            Fix(text, {"--x": text}, (text,), {"Y": text}, (text,), (text,), text, "safe", text, False, (text,), text),
        ),
        process=text,
        pod=text,
        evidence=(text, f"x {secret[:15]}", secret[15:]),
        near=(text,),
        why=text,
    )
    run = Run(model=text, command=text, args={"a": [text, {"b": (text,)}], secret: 1}, platform=text, deployment=text)
    return Report("cause_found", (finding,), (text,), (run,), InputFacts(1, 1, (text,), (text,)))


@settings(max_examples=60, deadline=None)
@given(_secret, _around, _around, st.booleans())
def test_no_secret_survives_in_any_format(secret, left, right, private):
    """Wherever in a report a secret stands, and whatever stands around it, no format shows it or half of it."""
    clean = redact(_everywhere(secret, left, right), private=private)
    for format in FORMATS:
        text = render(clean, format, Options(show_all=True, context=5))
        assert secret not in text
        assert secret[:15] not in text
        assert secret[15:] not in text


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [text for text, _ in _SECRETS + _PRIVATE]
            + _NO_SECRETS
            + ["'", '"', "\\", " ", "\n", "=", ":", "@", "/home/", "prompt: '", "api_key=[", "--api-key ", "<redacted:"]
        ),
        max_size=5,
    ).map("".join),
    st.booleans(),
)
@example(text="AKIAIOSFODNN7EXAMPLEghp_abcdefghijklmnopqrstuvwxyz0123456789", private=False)
def test_doing_it_again_changes_nothing(text, private):
    """A redacted report has nothing left to take out, and its counts stay."""
    report = replace(_everywhere("secretless", text, text), redacted={"tokens": 1})
    once = redact(report, private=private)
    assert redact(once, private=private) == once


@pytest.mark.parametrize(
    "piece",
    [
        *("api_key", "token=", "a-", "key-", "--key ", ":", "1.", "x@", "ip-1-1-", "prompt: '", "://", "eyJ", "sk-"),
        *(
            "hf_",
            "hf_a\n",
            "hf_abcdef\n",
            "sk-a\n|",
            "--hf-tokn ",
            "Cookie: a=b;",
            "--api-key a1 b2 ",
            "name: token ",
            "Generated response ",
            '"content": ',
            "/home/",
            "[[",
            "api_key=[",
        ),
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_a_hostile_text_takes_no_long_time(piece):
    """A text made to make patterns go back over it is done in a moment: twice the text, about twice the time."""
    started = time.process_time()
    _said(piece * (40_000 // len(piece)), private=True)
    assert time.process_time() - started < 5


def test_a_redacted_report_is_still_json():
    """Counts and placeholders are plain values."""
    clean = redact(_everywhere(HF, "", ""), private=True)
    assert json.loads(render(clean, "json"))["redacted"]["tokens"] >= 1


KEY_BLOCK = (
    "-----BEGIN RSA PRIVATE KEY-----",
    "MIIEowIBAAKCAQEAn1aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcdefghij",
    "QwErTyUiOpAsDfGhJkLzXcVbNm0987654321qazwsxedcrfvtgbyhnujmikolp12",
    "-----END RSA PRIVATE KEY-----",
)


@pytest.mark.parametrize("prefix", ["", "(APIServer pid=7) ERROR 11-30 14:15:09 [core.py:708] "])
@pytest.mark.parametrize(
    ("lines", "secrets"),
    [
        (KEY_BLOCK, KEY_BLOCK[1:3]),
        (("- name: HF_TOKEN", "  value: mysecrettokenvalue1"), ("mysecrettokenvalue1",)),
        (('{"name": "DB_PASSWORD",', ' "value": "jsonpw42aaa"}'), ("jsonpw42aaa",)),
    ],
)
def test_secrets_over_several_lines_of_evidence(prefix, lines, secrets):
    """Quoted lines are looked at together: what tells a secret may stand on the line above it."""
    finding = _finding(evidence=tuple(f"{prefix}{line}" for line in lines))
    shown = "\n".join(redact(Report("cause_found", (finding,)), private=True).findings[0].evidence)
    assert not any(secret in shown for secret in secrets)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("V1EnvVar(name='HF_TOKEN', value='clientpw99x')", "clientpw99x"),
        ("os.environ['HF_TOKEN']='pythonpw77x'", "pythonpw77x"),
        ("curl -s -u admin:curlpw55x http://example.com/", "curlpw55x"),
        ("sshpass -p sshpw66xyz ssh node", "sshpw66xyz"),
    ],
)
def test_secrets_of_other_programs(text, secret):
    """Clients' objects, Python's environment, curl and sshpass name their secrets too."""
    assert secret not in redact(Report("cause_found", (_finding(message=text),)), private=False).findings[0].message
