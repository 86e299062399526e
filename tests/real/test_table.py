"""The table of provocations, without a vLLM: each row can be run, and expects a cause that there is."""

import importlib.util
import json
import shlex
import struct
import sys
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

HERE = Path(__file__).parent
CAUSES = {path.stem for path in (HERE.parents[1] / "patterns" / "causes").glob("*/*.json")}


def load(name):
    """Import a module beside this file, which is no package."""
    spec = importlib.util.spec_from_file_location(f"real_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


table = load("table")
judge = load("judge")
ROWS = table.read()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_can_be_run(row):
    """Kind, cause, releases, shell words and the fields inside fields are ones that the loop knows."""
    assert row.kind in table.KINDS
    assert row.expect in CAUSES
    SpecifierSet(row.releases)
    shlex.split(row.arguments)
    assert all(isinstance(value, str) for value in row.environment.values())
    assert row.by_hand.keys() <= table.HAND_KEYS
    assert not row.by_hand or row.by_hand["says"]
    assert all(words in row.arguments for words in row.by_hand.get("without", []))
    assert (row.kind == "request") == bool(row.request)
    assert row.request.keys() <= table.CLIENT_KEYS


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"name": "a", "kind": "config", "expect": "b", "argument": "--x"}, "no such field: argument"),
        ({"name": "a", "kind": "config"}, "expect"),
    ],
)
def test_a_broken_row_is_refused(tmp_path, entry, reason):
    """A field that there is not, or one that is missing, is an error with the row's name."""
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([entry]))
    with pytest.raises(ValueError, match=f"rows.json: a: .*{reason}"):
        table.read([path])


def test_two_rows_of_one_name_are_refused(tmp_path):
    """A result belongs to one row."""
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"name": "a", "kind": "config", "expect": "b"}] * 2))
    with pytest.raises(ValueError, match="a: there is a row of that name already"):
        table.read([path])


@pytest.fixture
def model(tmp_path):
    """A model folder."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": 8}')
    (folder / "tokenizer.json").write_text("{}")
    return folder


def test_a_model_copy_has_the_changes(model, tmp_path):
    """Keys are set and dropped, files removed and written, weights written with their shapes; the source stays."""
    changes = {
        "config": {"model_type": None, "vocab_size": 7},
        "remove": ["tokenizer.json"],
        "files": {"adapter/a.json": {"r": 8}, "run.py": "open('{folder}')"},
        "weights": {"x": [2, 3], "y": [4]},
    }
    copy = Path(table.make_model(model, changes, tmp_path / "copy"))
    assert json.loads((copy / "config.json").read_text()) == {"hidden_size": 8, "vocab_size": 7}
    assert not (copy / "tokenizer.json").exists()
    assert json.loads((copy / "adapter/a.json").read_text()) == {"r": 8}
    assert (copy / "run.py").read_text() == f"open('{copy}')"
    data = (copy / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert header["y"] == {"dtype": "BF16", "shape": [4], "data_offsets": [12, 20]}
    assert len(data) == 8 + length + 20
    assert (model / "tokenizer.json").exists()


@pytest.mark.parametrize(
    ("fixed", "beside"),
    [
        ("vllm serve m --port 8 --max-num-seqs 4 --max-model-len 64", []),
        ("export A=1\nvllm serve m --max-num-seqs 4 --port 8", []),
        ("vllm serve m --max-num-seqs 4 --port 9", ["--port: 8 -> 9"]),
        ("vllm serve m --port 8", ["--max-num-seqs: 4 -> absent"]),
        ("vllm serve n --port 8 --max-num-seqs 4", ["words: serve m -> serve n"]),
    ],
)
def test_what_a_fix_changes_unnamed_is_told(fixed, beside):
    """Order and added variables do not matter; a changed, lost or added argument that the fix does not name does."""
    failed = "vllm serve m --port 8 --max-num-seqs 4 --max-model-len 128"
    assert judge.changed_beside_fix(failed, fixed, {"set": {"--max-model-len": 64}, "unset": []}) == beside


@pytest.mark.parametrize(
    ("fixed", "same"),
    [('{"a": 1, "b": {"c": 2, "d": 3}}', True), ('{"a": 1, "b": {"c": 4}}', False), ('{"a": 1}', False)],
)
def test_a_key_inside_a_value_is_all_that_a_fix_of_it_may_change(fixed, same):
    """Of a JSON value, the named key may differ and nothing else."""
    fix = {"set": {"--x.b.d": 3}, "unset": ["--x.e"]}
    failed = """vllm serve m --x '{"a": 1, "e": 5, "b": {"c": 2}}'"""
    assert (not judge.changed_beside_fix(failed, f"vllm serve m --x '{fixed}'", fix)) == same


def test_flags_of_a_fix_replace_those_of_the_command():
    """Where the log shows no command, set flags replace their values and unset ones go with theirs."""
    fix = {"set": {"--max-lora-rank": 16, "--trust-remote-code": True}, "unset": ["--quantization"]}
    command = judge.with_flags("vllm serve m --max-lora-rank 12 --quantization awq --port 8", fix)
    assert command == "vllm serve m --port 8 --max-lora-rank 16 --trust-remote-code"
