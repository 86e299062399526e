"""The bundled index and those of learned packages answer as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.catalogue.learned import Indexes, data_folder, learned_files
from triage.catalogue.sites import SiteFile

BUNDLED = """\
{"schema":"vllm-triage/sites/1","package":"vllm","releases":["1.0","1.1"]}
{"file":"vllm/a.py"}
["raise","ValueError","f","the budget {budget} is below the sequences","0:4,3"]
["raise","ValueError","f","the budget {budget} is below the sequences","0:9,3"]
["raise","ValueError","g","only the release has the wording of budgets","0:20,"]
"""
NIGHTLY = """\
{"schema":"vllm-triage/sites/1","package":"vllm","releases":["1.2.dev5+gabc"]}
{"file":"vllm/a.py"}
["raise","ValueError","f","the budget {budget} is below the sequences","0:14"]
["raise","ValueError","h","only the nightly has the wording of budgets","0:30"]
"""
PLUGIN = """\
{"schema":"vllm-triage/sites/1","package":"vllm-ascend","releases":["0.11.0"],"folders":["vllm_ascend"]}
{"file":"vllm_ascend/config.py"}
["raise","ValueError","f","the plugin has no budget for the sequences","0:7"]
"""


@pytest.fixture
def index(tmp_path: Path) -> Indexes:
    files = []
    for name, text in (("bundled", BUNDLED), ("vllm", NIGHTLY), ("vllm-ascend", PLUGIN)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(text, encoding="utf-8")
        files.append(SiteFile(path))
    return Indexes(files)


def test_a_message_of_both_has_the_lines_of_both(index: Indexes) -> None:
    """One site, with the release's and the nightly's line; the same object whenever it is asked for."""
    first, again = (index.worded("the budget 64 is below the sequences") for _ in range(2))
    joined = [site for site in first if "1.2.dev5+gabc" in site.lines and site.function == "f"]
    assert [dict(site.lines) for site in joined] == [{"1.0": 4, "1.1": 7, "1.2.dev5+gabc": 14}]
    assert [id(site) for site in first] == [id(site) for site in again]


def test_a_message_twice_in_a_function_stays_two_sites(index: Indexes) -> None:
    """Sites of one index are never joined with each other."""
    found = [site for site in index.inside("vllm/a.py") if site.function == "f"]
    assert sorted(min(site.lines.values()) for site in found) == [4, 9]


def test_releases_are_those_of_vllm(index: Indexes) -> None:
    """Another package's version is no release of vLLM."""
    assert index.releases == ("1.0", "1.1", "1.2.dev5+gabc")
    assert index.packages == ("vllm", "vllm_ascend")


def test_sites_of_a_line(index: Indexes) -> None:
    """A release's line is looked up in the index that has the release; other packages are asked without one."""
    assert [site.function for site in index.at("vllm/a.py", 14, "1.2.dev5+gabc")] == ["f"]
    assert index.at("vllm/a.py", 14, "1.1") == []
    assert [site.function for site in index.at("vllm/a.py", 12, "1.1")] == ["f"]
    assert [site.file for site in index.at("vllm_ascend/config.py", 7, "1.1")] == ["vllm_ascend/config.py"]


def test_the_folder_and_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable names the folder; one that does not exist holds nothing."""
    monkeypatch.setenv("VLLM_TRIAGE_DATA", str(tmp_path / "data"))
    assert data_folder() == tmp_path / "data"
    assert learned_files(data_folder()) == []
    monkeypatch.delenv("VLLM_TRIAGE_DATA")
    assert data_folder().name == "vllm-triage"
