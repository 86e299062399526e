"""Which command-line flags a release is said to have."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import orjson
import pytest

from triage.errors import UsageError
from triage.source.flags import dump_flags, read_flags


def _release(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / "vllm" / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return root


CONFIG = """
    @config
    class CacheConfig:
        block_size: Optional[int] = None
        caching: bool | None = None
        \"\"\"Not a flag: --in-a-docstring\"\"\"

    @dataclass
    class PassConfig:
        fuse: bool = False

    @config
    class ModelConfig:
        token: bool | str | None = None
        passes: PassConfig | bool = None
        strict: SkipValidation[Optional[bool]] = None
    """

ENGINE = """
    def get_kwargs(cls):
        if type_hints == {bool, str, type(None)}:
            pass

    class EngineArgs:
        @staticmethod
        def add_cli_args(parser):
            cache_kwargs = get_kwargs(CacheConfig)
            model_kwargs = get_kwargs(ModelConfig)
            pass_kwargs = model_kwargs["passes"]
            group = parser.add_argument_group("cache")
            group.add_argument("--block-size", **cache_kwargs["block_size"])
            group.add_argument("--enable-caching", **{**cache_kwargs["caching"], "default": None})
            group.add_argument("--token", **model_kwargs["token"])
            group.add_argument("--passes", **pass_kwargs)
            group.add_argument("--strict", **model_kwargs["strict"])
            group.add_argument("--tensor-parallel-size", "-tp", type=int)
            group.add_argument("--checks", action=argparse.BooleanOptionalAction)
            group.add_argument("--quiet", action="store_true")
            for arg, type in [("--old-a", str), ("--old-b", bool)]:
                group.add_argument(arg, type=type)

        def other(self, parser):
            parser.add_argument("--not-of-serve")
    """

FRONTEND = """
    @config
    class BaseFrontendArgs:
        chat_template: str | None = None
        known: ClassVar[int] = 1

        @classmethod
        def add_cli_args(cls, parser):
            for key, value in get_kwargs(cls).items():
                parser.add_argument(f"--{key.replace('_', '-')}", **value)

    @config
    class FrontendArgs(BaseFrontendArgs):
        disable_docs: bool = False

    @config
    class RenderArgs(BaseFrontendArgs):
        renderer: str = ""

    def make_arg_parser(parser):
        parser.add_argument("model_tag", nargs="?")
        parser.add_argument("--headless", action="store_true")
    """

ENGINE_FLAGS = {
    "--block-size",
    "--enable-caching",
    "--no-enable-caching",
    "--token",
    "--passes",
    "--strict",
    "--no-strict",
    "--tensor-parallel-size",
    "--checks",
    "--no-checks",
    "--quiet",
    "--old-a",
    "--old-b",
}
FRONTEND_FLAGS = {"--chat-template", "--disable-docs", "--no-disable-docs", "--headless"}


def test_flags_of_engine_and_frontend_are_read(tmp_path: Path) -> None:
    """Literal flags, those derived from fields, and the off-switches of bool fields, wherever cli_args.py lies."""
    reported: list[str] = []
    root = _release(tmp_path, config__cache=CONFIG, engine__arg_utils=ENGINE, entrypoints__common__cli_args=FRONTEND)
    flags = read_flags(root, lambda file, reason: reported.append(reason))
    assert flags == ENGINE_FLAGS | FRONTEND_FLAGS
    assert reported == []


def test_the_subcommand_adds_its_own(tmp_path: Path) -> None:
    """Only the parser of ``vllm serve`` counts among those that a script builds."""
    root = _release(
        tmp_path,
        engine__arg_utils="",
        scripts="""
            def main():
                serve_parser.add_argument("--config")
                chat_parser.add_argument("--system-prompt")
            """,
    )
    assert read_flags(root) == {"--config"}


def test_switches_pair_enable_with_disable_where_the_release_does(tmp_path: Path) -> None:
    """A release with the pairing action knows the opposite of each switch, and of nothing else."""
    root = _release(
        tmp_path,
        config=CONFIG,
        engine__arg_utils=ENGINE,
        utils__argparse_utils="""
            class EnableDisableAction(BooleanOptionalAction):
                _inverse_prefixes = {"--enable-": "--disable-", "--disable-": "--enable-"}
            """,
    )
    assert read_flags(root) == ENGINE_FLAGS | {"--disable-caching"}


def test_what_is_not_understood_is_reported(tmp_path: Path) -> None:
    """A flag or a field that cannot be told is named instead of being lost quietly."""
    engine = """
        def add_cli_args(parser):
            parser.add_argument(make_name(), type=int)
            parser.add_argument("--odd", **somewhere())
        """
    reported: list[tuple[str, str]] = []
    root = _release(tmp_path, engine__arg_utils=engine)
    assert read_flags(root, lambda file, reason: reported.append((file, reason))) == {"--odd"}
    assert reported == [
        ("arg_utils.py", "line 3: cannot tell the flag of parser.add_argument(make_name(), type=int)"),
        ("arg_utils.py", "line 4: cannot tell the type of somewhere()"),
    ]


def test_a_folder_without_the_package_is_an_error(tmp_path: Path) -> None:
    """No flags at all would make every fix of that release vanish, so that is not what a wrong folder gives."""
    with pytest.raises(UsageError):
        read_flags(tmp_path)


def test_the_file_holds_ranges_of_known_releases() -> None:
    """Consecutive releases are joined in order of version; a gap starts a new range."""
    known = {"0.9.0": {"--a"}, "0.10.0": {"--a", "--b"}, "0.8.5": {"--b"}, "0.8.5.post1": {"--b"}}
    text = dump_flags("vllm", known)
    assert orjson.loads(text) == {
        "package": "vllm",
        "releases": ["0.8.5", "0.8.5.post1", "0.9.0", "0.10.0"],
        "flags": {"--a": [["0.9.0", "0.10.0"]], "--b": [["0.8.5", "0.8.5.post1"], ["0.10.0", "0.10.0"]]},
    }
    assert text.endswith(b"}\n")
    assert b'    "--a": [["0.9.0","0.10.0"]],\n' in text
