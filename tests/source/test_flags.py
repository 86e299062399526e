"""Which command-line flags a release is said to have."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import orjson
import pytest

from triage.errors import UsageError
from triage.source.flag_facts import FlagFacts
from triage.source.flag_file import Known, dump_known, load_known, read_release
from triage.source.flags import fields_of_configs, read_flags
from triage.source.modules import UNKNOWN


def _release(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / "vllm" / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return root


CONFIG = """
    Modes = Literal["slow", "fast"]

    @config
    class CacheConfig:
        block_size: Optional[int] = Field(default=None, ge=1)
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
        mode: Modes = "fast"
        sizes: list[int] = field(default_factory=lambda: [1, 2])
    """

ENGINE = """
    from vllm.config.cache import CacheConfig, ModelConfig

    def get_kwargs(cls):
        if type_hints == {bool, str, type(None)}:
            pass

    class EngineArgs:
        @staticmethod
        def add_cli_args(parser):
            cache_kwargs = get_kwargs(CacheConfig)
            model_kwargs = get_kwargs(ModelConfig)
            pass_kwargs = model_kwargs["passes"]
            model_kwargs["sizes"]["default"] = None
            group = parser.add_argument_group("cache")
            group.add_argument("--block-size", **cache_kwargs["block_size"])
            group.add_argument("--enable-caching", **{**cache_kwargs["caching"], "default": None})
            group.add_argument("--token", **model_kwargs["token"])
            group.add_argument("--passes", **pass_kwargs)
            group.add_argument("--strict", **model_kwargs["strict"])
            group.add_argument("--tensor-parallel-size", "-tp", type=int)
            group.add_argument("--checks", action=argparse.BooleanOptionalAction)
            group.add_argument("--quiet", action="store_true")
            group.add_argument("--mode", **model_kwargs["mode"])
            group.add_argument("--sizes", **model_kwargs["sizes"])
            for arg, type in [("--old-a", str), ("--old-b", bool)]:
                group.add_argument(arg, type=type)
            return parser

        def other(self, parser):
            parser.add_argument("--not-of-serve")

    class AsyncEngineArgs(EngineArgs):
        @staticmethod
        def add_cli_args(parser, async_args_only=False):
            if not async_args_only:
                parser = EngineArgs.add_cli_args(parser)
            return parser
    """

FRONTEND = """
    from vllm.engine.arg_utils import AsyncEngineArgs, get_kwargs

    @config
    class BaseFrontendArgs:
        chat_template: str | None = None
        known: ClassVar[int] = 1

        @classmethod
        def add_cli_args(cls, parser):
            for key, value in get_kwargs(cls).items():
                parser.add_argument(f"--{key.replace('_', '-')}", **value)
            return parser

    @config
    class FrontendArgs(BaseFrontendArgs):
        disable_docs: bool = False

    @config
    class RenderArgs(BaseFrontendArgs):
        renderer: str = ""

    def make_arg_parser(parser):
        parser.add_argument("model_tag", nargs="?")
        parser.add_argument("--headless", action="store_true")
        parser = FrontendArgs.add_cli_args(parser)
        return AsyncEngineArgs.add_cli_args(parser)
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
    "--mode",
    "--sizes",
}
FRONTEND_FLAGS = {"--chat-template", "--disable-docs", "--no-disable-docs", "--headless"}


def names(flags: dict[str, FlagFacts]) -> set[str]:
    """All that can be typed: flags, other spellings with two hyphens, off-switches."""
    other = {each for flag in flags.values() for each in (*flag.short, *flag.off) if each.startswith("--")}
    return {*flags, *other}


def test_flags_of_engine_and_frontend_are_read(tmp_path: Path) -> None:
    """Literal flags, those derived from fields, and the off-switches of bool fields, wherever cli_args.py lies."""
    reported: list[str] = []
    root = _release(tmp_path, config__cache=CONFIG, engine__arg_utils=ENGINE, entrypoints__common__cli_args=FRONTEND)
    flags = read_flags(root, lambda file, reason: reported.append(reason))
    assert names(flags) == ENGINE_FLAGS | FRONTEND_FLAGS
    assert reported == []


@pytest.mark.parametrize(
    "expected",
    [
        FlagFacts("--block-size", "block_size", "CacheConfig", type="int", default=None, group="cache"),
        FlagFacts(
            "--enable-caching",
            "enable_caching",
            "CacheConfig",
            "switch",
            "bool",
            None,
            off=("--no-enable-caching",),
            group="cache",
        ),
        FlagFacts("--token", "token", "ModelConfig", "optional", default=None, group="cache"),
        FlagFacts("--passes", "passes", "ModelConfig", type="json", default=None, of="PassConfig", group="cache"),
        FlagFacts("--mode", "mode", "ModelConfig", default="fast", choices=("fast", "slow"), group="cache"),
        FlagFacts("--sizes", "sizes", "ModelConfig", "several", "int", None, group="cache"),
        FlagFacts(
            "--tensor-parallel-size", "tensor_parallel_size", type="int", default=None, short=("-tp",), group="cache"
        ),
        FlagFacts("--quiet", "quiet", kind="switch", type="bool", default=False, group="cache"),
        FlagFacts("--chat-template", "chat_template", "BaseFrontendArgs", default=None),
        FlagFacts("--headless", "headless", kind="switch", type="bool", default=False),
    ],
    ids=lambda facts: facts.name,
)
def test_what_the_parser_makes_of_a_flag(tmp_path: Path, expected: FlagFacts) -> None:
    """Kind, type, default, choices, spellings, topic, and the class whose field it is."""
    root = _release(tmp_path, config__cache=CONFIG, engine__arg_utils=ENGINE, entrypoints__common__cli_args=FRONTEND)
    assert read_flags(root)[expected.name] == expected


def test_fields_of_configuration_classes(tmp_path: Path) -> None:
    """Each field with its type, default and limits; what is no plain value has no default."""
    root = _release(tmp_path, config__cache=CONFIG, engine__arg_utils=ENGINE)
    fields = fields_of_configs(root)
    assert fields["CacheConfig"]["block_size"] == {"owner": "CacheConfig", "type": "int", "default": None, "ge": 1}
    assert fields["ModelConfig"]["sizes"]["default"] == [1, 2]
    assert fields["PassConfig"]["fuse"]["default"] is False


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
    assert names(read_flags(root)) == {"--config"}


def test_switches_pair_enable_with_disable_where_the_release_does(tmp_path: Path) -> None:
    """A release with the pairing action knows the opposite of each switch, and of nothing else."""
    root = _release(
        tmp_path,
        config__cache=CONFIG,
        engine__arg_utils=ENGINE,
        entrypoints__common__cli_args=FRONTEND,
        utils__argparse_utils="""
            class EnableDisableAction(BooleanOptionalAction):
                _inverse_prefixes = {"--enable-": "--disable-", "--disable-": "--enable-"}
            """,
    )
    assert names(read_flags(root)) == ENGINE_FLAGS | FRONTEND_FLAGS | {"--disable-caching", "--enable-docs"}


def test_what_is_not_understood_is_reported(tmp_path: Path) -> None:
    """A flag or a field that cannot be told is named instead of being lost quietly."""
    frontend = """
        def make_arg_parser(parser):
            parser.add_argument(make_name(), type=int)
            parser.add_argument("--odd", **somewhere())
        """
    reported: list[tuple[str, str]] = []
    root = _release(tmp_path, engine__arg_utils="", entrypoints__cli_args=frontend)
    flags = read_flags(root, lambda file, reason: reported.append((Path(file).name, reason)))
    assert names(flags) == {"--odd"}
    assert flags["--odd"].default is None
    assert reported == [
        ("cli_args.py", "line 3: cannot tell the flag of parser.add_argument(make_name(), type=int)"),
        ("cli_args.py", "line 4: cannot tell the type of somewhere()"),
    ]


def test_a_default_that_needs_the_machine_is_not_known(tmp_path: Path) -> None:
    """What only the running program knows stays open instead of being guessed."""
    frontend = """
        import os

        def make_arg_parser(parser):
            parser.add_argument("--home", default=os.environ.get("HOME"))
        """
    root = _release(tmp_path, engine__arg_utils="", entrypoints__cli_args=frontend)
    assert read_flags(root)["--home"].default is UNKNOWN


def test_a_folder_without_the_package_is_an_error(tmp_path: Path) -> None:
    """No flags at all would make every fix of that release vanish, so that is not what a wrong folder gives."""
    with pytest.raises(UsageError):
        read_flags(tmp_path)


def test_the_file_holds_ranges_of_known_releases() -> None:
    """Consecutive releases with the same facts are joined in order of version; a gap or a change starts a new range."""
    known = Known()
    known.add("0.9.0", "flags", {"--a": {}})
    known.add("0.10.0", "flags", {"--a": {}, "--b": {"type": "int"}})
    known.add("0.8.5", "flags", {"--b": {}})
    known.add("0.8.5.post1", "flags", {"--b": {}})
    text = dump_known("vllm", known)
    data = orjson.loads(text)
    assert data["releases"] == ["0.8.5", "0.8.5.post1", "0.9.0", "0.10.0"]
    assert data["flags"] == {
        "--a": [["0.9.0", "0.10.0", {}]],
        "--b": [["0.8.5", "0.8.5.post1", {}], ["0.10.0", "0.10.0", {"type": "int"}]],
    }
    assert b'    "--a": [["0.9.0","0.10.0",{}]],\n' in text
    assert dump_known("vllm", load_known(text)) == text


def test_a_release_is_added_to_those_that_are_known(tmp_path: Path) -> None:
    """Reading one release leaves the others as they were; reading it again replaces what was known of it."""
    root = _release(
        tmp_path,
        engine__arg_utils="",
        entrypoints__cli_args='def make_arg_parser(parser):\n    parser.add_argument("--b")\n',
        envs='if TYPE_CHECKING:\n    VLLM_PORT: int | None = None\n    VLLM_HOME: str = os.path.expanduser("~")\n',
    )
    known = Known()
    known.add("0.9.0", "flags", {"--a": {}})
    known.add("0.10.0", "flags", {"--gone": {}})
    assert read_release(known, "0.10.0", root, lambda file, reason: None) == 1
    data = orjson.loads(dump_known("vllm", known))
    assert data["flags"] == {"--a": [["0.9.0", "0.9.0", {}]], "--b": [["0.10.0", "0.10.0", {"default": None}]]}
    assert data["variables"] == {
        "VLLM_HOME": [["0.10.0", "0.10.0", {"type": "str"}]],
        "VLLM_PORT": [["0.10.0", "0.10.0", {"type": "int | None", "default": None}]],
    }


def test_a_damaged_file_is_an_error() -> None:
    """What cannot be read is not overwritten with less."""
    with pytest.raises(UsageError):
        load_known(b'{"releases": ["1.0"]}')
