"""What the lines around a message change about it: scope, fixes, place, what is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from triage.model import Finding, Report

Diagnose = Callable[..., Report]

START = """\
INFO 02-11 08:00:01 [__init__.py:216] Automatically detected platform cuda.
(APIServer pid=9) INFO 02-11 08:00:06 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=9) INFO 02-11 08:00:06 [utils.py:233] non-default args: {{'model_tag': '{model}', 'model': '{model}'{args}}}
"""
ADAPTER = """\
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:780] Invocation of add_lora method failed
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:780] Traceback (most recent call last):
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:780]   File "/opt/venv/lib/python3.12/site-packages/vllm/lora/worker_manager.py", line 141, in _load_adapter
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:780]     raise ValueError(
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:780] ValueError: Loading lora notes failed: No adapter found for /adapters/notes
"""
AT_START = """\
(APIServer pid=9) Traceback (most recent call last):
(APIServer pid=9)   File "/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/openai/api_server.py", line 1754, in init_app_state
(APIServer pid=9)     await state.openai_serving_models.init_static_loras()
(APIServer pid=9)   File "/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/openai/serving_models.py", line 82, in init_static_loras
(APIServer pid=9)     raise ValueError(load_result.error.message)
(APIServer pid=9) ValueError: Loading lora notes failed: No adapter found for /adapters/notes
"""
SERVING = """\
(APIServer pid=9) INFO:     Application startup complete.
"""
REFUSED = """\
(APIServer pid=9) INFO:     192.0.2.9:41822 - "POST /v1/load_lora_adapter HTTP/1.1" 404 Not Found
"""


def root_of(report: Report) -> Finding:
    (root,) = [finding for finding in report.findings if finding.role == "root_cause"]
    return root


@pytest.mark.parametrize(
    ("log", "scope"),
    [
        pytest.param(ADAPTER + AT_START, "startup", id="named with --lora-modules"),
        pytest.param(SERVING + ADAPTER + REFUSED, "request", id="loaded by a client"),
    ],
)
def test_adapter_that_stops_the_start(diagnose: Diagnose, log: str, scope: str) -> None:
    """An adapter that is named at the start is no request of a client: without it the server does not come up."""
    root = root_of(diagnose(START.format(model="acme/Heron-7B", args=", 'enable_lora': True") + log))
    assert root.record is not None
    assert (root.record.slug, root.scope) == ("lora-adapter-not-found", scope)


DAMAGED = """\
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:708] EngineCore failed to start.
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:708] Traceback (most recent call last):
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:708]   File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/model_loader/weight_utils.py", line 602, in safetensors_weights_iterator
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:708]     with safe_open(st_file, framework="pt") as f:
(EngineCore_DP0 pid=80) ERROR 02-11 08:02:10 [core.py:708] safetensors_rust.SafetensorError: Error while deserializing header: header too large
"""


@pytest.mark.parametrize(
    ("model", "step"),
    [
        ("acme/Heron-7B", "hf download acme/Heron-7B --force-download"),
        ("/models/heron", "/models/heron/*.safetensors"),
        ("s3://bucket/heron", "ls -l"),
    ],
)
def test_model_of_the_hub_or_folder(diagnose: Diagnose, model: str, step: str) -> None:
    """A folder is not downloaded, and a repository of the Hub is not looked through."""
    (fix,) = root_of(diagnose(START.format(model=model, args="") + DAMAGED)).fixes
    assert step in " ".join(fix.steps)
    assert ("hf download acme" in " ".join(fix.steps)) is (model == "acme/Heron-7B")


@pytest.mark.parametrize(
    ("code", "title"), [("-9", "SIGKILL"), ("-11", "SIGSEGV"), ("-6", "SIGABRT"), ("None", "find out")]
)
def test_exit_codes_are_told_apart(diagnose: Diagnose, code: str, title: str) -> None:
    """What ended a worker without a word decides what to look at."""
    line = "(EngineCore_DP0 pid=80) ERROR 02-11 09:10:44 [multiproc_executor.py:154] "
    died = f"Worker proc VllmWorker-1 died unexpectedly (exit code: {code}), shutting down executor.\n"
    (fix,) = root_of(diagnose(START.format(model="acme/Heron-7B", args="") + SERVING + line + died)).fixes
    assert fix.title.startswith(title)


@pytest.mark.parametrize(
    ("args", "said"),
    [(", 'cpu_offload_gb': 48.0", "host memory with --cpu-offload-gb 48.0"), (", 'cpu_offload_gb': 0", None)],
)
def test_abrupt_end_beside_a_setting_for_host_memory(diagnose: Diagnose, args: str, said: str | None) -> None:
    """A process that is gone without a word: the arguments that take host memory are named, nothing is blamed."""
    report = diagnose(START.format(model="acme/Heron-7B", args=args) + "Killed\n")
    assert not [finding for finding in report.findings if finding.role == "root_cause"]
    assert ("--cpu-offload-gb" in " ".join(report.missing)) is (said is not None)
    assert said is None or said in " ".join(report.missing)


@pytest.mark.parametrize(
    ("api", "function"), [("Embeddings", "create_embedding"), ("Score", "create_score"), ("Pooling", "create_pooling")]
)
def test_place_that_spells_the_hole_out(diagnose: Diagnose, api: str, function: str) -> None:
    """A record's hole that each place of the sources spells out: the place whose own words were said counts."""
    said = f"{{'object': 'error', 'message': 'The model does not support {api} API', 'code': 400}}"
    log = "INFO 02-11 08:00:06 [api_server.py:1043] vLLM API server version 0.8.5\n"
    location = root_of(diagnose(f"{log}openai.BadRequestError: Error code: 400 - {said}\n")).location
    assert location is not None
    assert (location.function or "").endswith(function)


def test_listed_names_in_a_step(diagnose: Diagnose) -> None:
    """Names that were printed as a list are told in a row, not quoted as one word."""
    message = "ValueError: Invalid value 'thread' for VLLM_WORKER_MULTIPROC_METHOD. Valid options: ['spawn', 'fork']."
    (fix,) = root_of(diagnose(START.format(model="acme/Heron-7B", args="") + message + "\n")).fixes
    assert "one of spawn, fork" in " ".join(fix.steps)
