"""What `learn` reads: folders, archives, installed packages."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.source.packages import opened

SOURCES = {
    "acme_plugin/__init__.py": '__version__ = "1.4.2"\n',
    "acme_plugin/inner/rules.py": "raise ValueError('a')\n",
    "tests/test_rules.py": "assert True\n",
    "setup.py": "raise SystemExit('never run')\n",
}
METADATA = "Metadata-Version: 2.1\nName: Acme_Plugin\nVersion: 2.0.0+local\n\nVersion: 9\n"
OWN = ("acme_plugin/__init__.py", "acme_plugin/inner/rules.py")


def quiet(text: str) -> None:
    """Take what would be said."""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def zipped(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("inner", ["", "acme_plugin", "acme_plugin/inner"])
def test_a_checkout_and_the_package_itself(tmp_path: Path, inner: str) -> None:
    """Tests and build files are no part of the package; its version stands in its source."""
    write(tmp_path, {**SOURCES, "acme_plugin/inner/__init__.py": ""})
    with opened(str(tmp_path / inner), quiet) as package:
        assert (package.name, package.version, package.folders) == ("acme-plugin", "1.4.2", ("acme_plugin",))
        assert set(package.files) == {*OWN, "acme_plugin/inner/__init__.py"}


def test_a_src_folder(tmp_path: Path) -> None:
    """Of a checkout with ``src`` that is the root."""
    write(tmp_path, {f"src/{name}": text for name, text in SOURCES.items()})
    with opened(str(tmp_path), quiet) as package:
        assert set(package.files) == set(OWN)


def test_metadata_beside_an_installed_package(tmp_path: Path) -> None:
    """The metadata says the version, not a line that the source forgot to change."""
    write(tmp_path / "site-packages", {**SOURCES, "acme_plugin-2.0.0.dist-info/METADATA": METADATA})
    with opened(str(tmp_path / "site-packages" / "acme_plugin"), quiet) as package:
        assert (package.name, package.version) == ("acme-plugin", "2.0.0+local")
    with pytest.raises(UsageError, match="many packages"), opened(str(tmp_path / "site-packages"), quiet):
        pass


def test_a_wheel(tmp_path: Path) -> None:
    """A wheel is read as it lies there."""
    path = zipped(tmp_path / "acme.whl", {**SOURCES, "acme_plugin-2.0.0.dist-info/METADATA": METADATA})
    with opened(str(path), quiet) as package:
        assert (package.name, package.version) == ("acme-plugin", "2.0.0+local")
        assert {name: member.read_bytes().decode() for name, member in package.files.items()} == {
            name: SOURCES[name] for name in OWN
        }


def test_a_source_archive(tmp_path: Path) -> None:
    """The folder NAME-VERSION that encloses it is no package."""
    path = tmp_path / "acme_plugin-3.1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {**SOURCES, "PKG-INFO": METADATA.replace("2.0.0+local", "3.1")}.items():
            member = tarfile.TarInfo(f"acme_plugin-3.1/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    with opened(str(path), quiet) as package:
        assert (package.name, package.version, tuple(package.files)) == ("acme-plugin", "3.1", OWN)


def test_an_installed_package() -> None:
    """A package beside the program, by its name or that of its folder."""
    with opened("rich", quiet) as package:
        assert package.name == "rich"
        assert "rich/console.py" in package.files
    with opened("orjson", quiet) as package:
        assert package.version is not None


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("no/such.whl", "no file or folder"),
        ("surely-not-installed-here", "not installed"),
        ("what is this", "names no package"),
    ],
)
def test_what_is_none(wanted: str, said: str) -> None:
    """A clear error that names the mend."""
    with pytest.raises(UsageError, match=said) as error, opened(wanted, quiet):
        pass
    assert error.value.hint


def test_damaged_archives(tmp_path: Path) -> None:
    """An archive that is none, one that is cut, one without sources."""
    (tmp_path / "a.whl").write_bytes(b"no archive")
    whole = zipped(tmp_path / "b.whl", SOURCES).read_bytes()
    (tmp_path / "cut.whl").write_bytes(whole[: len(whole) // 2])
    zipped(tmp_path / "empty.whl", {"README": "nothing"})
    for name in ("a.whl", "cut.whl", "empty.whl"):
        with pytest.raises(UsageError), opened(str(tmp_path / name), quiet):
            pass
