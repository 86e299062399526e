"""Which statements give sites, and what a site says."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from triage.source.sites import Site, read_sites, sites_of


def _sites(source: str) -> list[Site]:
    return list(sites_of(dedent(source).encode(), "vllm/a.py"))


def _templates(source: str) -> list[str]:
    return [site.template for site in _sites(source)]


def test_a_raise_is_read_with_its_class_place_and_template() -> None:
    """The line is the statement's first, the function is qualified by its class."""
    (site,) = _sites("""
        class Config:
            def verify(self):
                if self.budget < self.seqs:
                    raise ValueError(
                        f"budget ({self.budget}) must "
                        "be greater than or equal to seqs "
                        f"({self.seqs})."
                    )
        """)
    assert site == Site(
        template="budget ({self.budget}) must be greater than or equal to seqs ({self.seqs}).",
        class_name="ValueError",
        level=None,
        file="vllm/a.py",
        line=5,
        function="Config.verify",
        kind="raise",
        guard="self.budget < self.seqs",
    )


def test_logger_calls_are_read_with_level_and_arguments() -> None:
    """Arguments fill the conversions; without arguments the percent signs stay as they are."""
    sites = _sites("""
        logger.warning("%s is slow (%d%%)", self.name, n, exc_info=True)
        logger.warning_once("100% sure")
        self._logger.exception("failed: %s", e)
        logging.critical("over")
        logger.log(logging.INFO, "at %s", level)
        catalog.items("not a log call")
        logger.error(e)
        """)
    assert [(site.level, site.template) for site in sites] == [
        ("WARNING", "{self.name} is slow ({n}%)"),
        ("WARNING", "100% sure"),
        ("ERROR", "failed: {e}"),
        ("CRITICAL", "over"),
        ("INFO", "at {level}"),
        ("ERROR", "{e}"),
    ]
    assert {site.kind for site in sites} == {"log"}
    assert {site.class_name for site in sites} == {None}
    assert {site.function for site in sites} == {None}


def test_asserts_and_warnings_are_read() -> None:
    """An assert without a message is told by its source; a warning's category is its class."""
    sites = _sites("""
        assert "x" in {1, 2}  # why
        assert (
            x
        )
        assert x, f"need {x}"
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        warnings.warn("odd")
        """)
    assert [(site.kind, site.class_name, site.template) for site in sites] == [
        ("check", "AssertionError", 'assert "x" in {{1, 2}}'),
        ("check", "AssertionError", "assert ( x )"),
        ("assert", "AssertionError", "need {x}"),
        ("warn", "DeprecationWarning", "old"),
        ("warn", "UserWarning", "odd"),
    ]


def test_the_message_is_the_argument_that_holds_text() -> None:
    """Status codes before it and keywords do not hide it; an exception without a message has an empty one."""
    assert _templates("""
        raise HTTPException(400, "no such model")
        """) == ["no such model"]
    assert _templates("""
        raise HTTPException(status_code=400, detail=f"no {x}")
        """) == ["no {x}"]
    assert _templates("raise NotImplementedError") == [""]
    assert _templates("raise ValueError()") == [""]
    assert _templates("raise error") == []


def test_exceptions_built_elsewhere_are_read() -> None:
    """An exception handed on instead of raised, and the text that an exception class gives itself."""
    sites = _sites("""
        class DeadError(Exception):
            TEXT = "the engine is dead"

            def __init__(self):
                super().__init__(self.TEXT)

        def fail(future):
            future.set_exception(RuntimeError("gone"))
            raise self._failed("why")
        """)
    assert [(site.kind, site.class_name, site.function, site.template) for site in sites] == [
        ("exception", "DeadError", "DeadError.__init__", "the engine is dead"),
        ("exception", "RuntimeError", "fail", "gone"),
        ("raise", None, "fail", "why"),
    ]


def test_messages_made_in_one_place_for_another_are_read() -> None:
    """Error responses, reasons in a list or an attribute, usage errors; not every list or attribute."""
    sites = _sites("""
        def f(self, x):
            output.failure_message = f"Call to {x} failed"
            errors.append(f"rank {x} is too great")
            names.append("not a reason")
            self.name = "not a reason"
            sys.exit("no more")
            sys.exit(1)
            parser.error(f"bad {x}")
            return self.create_error_response(message=f"{x} does not exist", err_type="NotFoundError")
        """)
    assert {(site.kind, site.class_name, site.level) for site in sites} == {("text", None, None)}
    assert [site.template for site in sites] == [
        "Call to {x} failed",
        "rank {x} is too great",
        "no more",
        "bad {x}",
        "{x} does not exist",
    ]


def test_a_log_argument_with_several_texts_gives_a_site_for_each() -> None:
    """What an argument may hold is filled in like any other part of the message."""
    assert _templates("""
        def f(x):
            hint = "try less" if x else "try more"
            logger.error("%s: %s, %5.1f s, 100%%", x, hint, *rest)
        """) == ["{x}: try less, {*rest:.1f} s, 100%", "{x}: try more, {*rest:.1f} s, 100%"]


def test_a_message_in_a_variable_is_followed() -> None:
    """Each value that the variable may hold at the statement gives a site; one that cannot reach it gives none."""
    assert _templates("""
        def f(x):
            msg = "unused"
            msg = f"bad {x}."
            if x > 1:
                msg += " Try less."
            elif x < -9:
                msg = "never"
                return None
            raise ValueError(msg)
        """) == ["bad {x}. Try less.", "bad {x}."]


def test_a_part_that_is_empty_at_first_is_left_out() -> None:
    """The usual way to write an optional sentence gives the message with and without it."""
    assert _templates("""
        def f(x):
            hint = ""
            if x:
                hint = f" At most {x}."
            raise ValueError(f"Too long.{hint} Stop.")
        """) == ["Too long. At most {x}. Stop.", "Too long. Stop."]


def test_a_variable_with_another_value_stays_a_hole() -> None:
    """Parameters, loop variables, variables set in loops and defaults of a class are not taken for their texts."""
    assert _templates("""
        name = "module"

        class C:
            dtype: str = "auto"

            def f(self, name, items):
                for item in items:
                    raise ValueError(f"{name} {self.dtype} {item}")

        def g():
            state = "new"
            while True:
                logger.info("state %s", state)
                state = ask()
        """) == ["{name} {self.dtype} {item}", "state {state}"]


def test_a_name_that_one_branch_leaves_unknown_may_be_anything() -> None:
    """After a branch that computes the text, both the known text and a hole are possible."""
    assert _templates("""
        def f(x):
            msg = "known"
            if x:
                msg = compute()
            raise ValueError(msg)
        """) == ["{msg}", "known"]


def test_nested_functions_and_handlers_are_read() -> None:
    """try, with, match and inner functions hide no statement."""
    sites = _sites("""
        def outer(x):
            def inner():
                raise KeyError("inner")
            try:
                with lock:
                    raise OSError("tried")
            except OSError as e:
                raise RuntimeError("handled") from e
            finally:
                logger.info("finally")
            match x:
                case 1:
                    raise ValueError("matched")
        """)
    assert sorted((site.function, site.template) for site in sites) == [
        ("outer", "finally"),
        ("outer", "handled"),
        ("outer", "tried"),
        ("outer.inner", "inner"),
    ]


def test_statements_after_a_match_are_read() -> None:
    """A match whose cases all return does not end its function: none of them need fit."""
    assert _templates("""
        def f(x):
            match x:
                case 1:
                    raise ValueError("one")
            raise ValueError("none")
        """) == ["one", "none"]


def test_odd_files_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    """Files that do not parse, hold null bytes or nest too deeply are named; the others still give their sites."""
    package = tmp_path / "vllm"
    package.mkdir()
    (package / "a.py").write_text("raise ValueError('fine')")
    (package / "b.py").write_text("def f(:\n")
    (package / "c.py").write_bytes(b"x = 1\0")
    (package / "d.py").write_text("x = " + "(" * 3000 + ")" * 3000)
    (package / "e.py").write_text("x = '\\d'\nraise ValueError('invalid escape before')")
    (package / "f.py").write_bytes(b"# -*- coding: nonsense -*-\n")
    reported: list[str] = []
    sites = list(read_sites(tmp_path, lambda file, reason: reported.append(file)))
    assert [(site.file, site.template) for site in sites] == [
        ("vllm/a.py", "fine"),
        ("vllm/e.py", "invalid escape before"),
    ]
    assert reported == ["vllm/b.py", "vllm/c.py", "vllm/d.py", "vllm/f.py"]


def test_an_exception_without_a_text_gives_its_place() -> None:
    """Class, line and function, an empty template; raising on, and what a function returned, give none."""
    got = _sites("""
        def f(error):
            try:
                raise NotImplementedError
            except KeyError:
                if error:
                    raise
                if other:
                    raise error
            raise errors.StateError()
        """)
    assert [(site.class_name, site.line, site.template, site.kind) for site in got] == [
        ("NotImplementedError", 4, "", "bare"),
        ("StateError", 10, "", "bare"),
    ]


@pytest.mark.parametrize(
    ("source", "guard"),
    [
        ("if a.x < b: raise ValueError('m')", "a.x < b"),
        ("if not a.x < 2: raise ValueError('m')", "a.x >= 2"),
        ("if heads % size != 0: raise ValueError('m')", "heads % size != 0"),
        ("if self.heads % size: raise ValueError('m')", "self.heads % size != 0"),
        ("assert heads % size == 0, 'm'", "heads % size != 0"),
        ("assert a >= b, 'm'", "a < b"),
        ("if a == b: pass\nelse: raise ValueError('m')", "a != b"),
        ("if a < b:\n    text = 'm'\n    raise ValueError(text)", "a < b"),
        ("if a < b and c: raise ValueError('m')", None),
        ("if f(a) < b: raise ValueError('m')", None),
        ("if a < b < c: raise ValueError('m')", None),
        ("if a < b:\n    a = g(a)\n    h()\n    raise ValueError('m')", None),
        ("if a < b:\n    for x in y:\n        raise ValueError('m')", None),
    ],
)
def test_plain_guards_are_read(source: str, guard: str | None) -> None:
    """One comparison or modulus of names and numbers, as it is when the message comes out; anything else is none."""
    assert [site.guard for site in _sites(source) if site.template == "m"] == [guard]
