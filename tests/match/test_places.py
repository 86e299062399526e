"""A message that no record knows is placed where the sources emit it, if its text, class and place agree."""

from __future__ import annotations

from collections.abc import Sequence

from triage.catalogue.templates import parse_template
from triage.match import place
from triage.model import Event, Frame, Line, Raised, Record, Site, Statement


class Index:
    """All sites are offered for every text."""

    releases = ("1.0", "1.1")
    packages = ("vllm",)

    def __init__(self, *sites: Site) -> None:
        self._sites = sites

    def worded(self, text: str, release: str | None = None) -> Sequence[Site]:
        """Whatever the text."""
        return self._sites

    def at(self, file: str, line: int, release: str | None = None) -> Sequence[Site]:
        """Those of a line."""
        return [
            site
            for site in self._sites
            if site.file.endswith(file)
            and (site.lines.get(release or "") == line if release in self.releases else line in site.lines.values())
        ]

    def inside(self, file: str) -> Sequence[Site]:
        """Those of a file."""
        return [site for site in self._sites if site.file == file]


def site(template: str, file: str = "vllm/a.py", *, of: str = "ValueError", kind: str = "raise", **lines: int) -> Site:
    return Site(kind, of, file, "Config.verify", parse_template(template), lines or {"1.0": 5})


def raised(text: str, class_name: str = "ValueError", *frames: Frame) -> Statement:
    record = Record(text, (Line("stdin", 1, 0, text),))
    event = Event("exception", (record,), raised=(Raised(class_name, text, frames, (record,)),))
    return Statement(event, text, class_name, 0, (record,))


LONG = "budget ({budget}) must be at least the number of sequences ({seqs})"
TEXT = "budget (64) must be at least the number of sequences (256)"


def test_values_are_named_after_the_holes() -> None:
    """The holes' values come with the site, numbers as numbers."""
    placed = place(raised(TEXT), Index(site(LONG)), None)
    assert placed is not None
    assert (dict(placed.captures), placed.confidence, placed.others) == ({"budget": 64, "seqs": 256}, "exact", ())


def test_the_template_with_most_of_its_own_letters_wins() -> None:
    """A general template that fits as well is less."""
    general, special = site("budget {rest}", "vllm/b.py"), site(LONG)
    placed = place(raised(TEXT), Index(general, special), None)
    assert placed is not None
    assert placed.site is special


def test_another_class_is_another_message() -> None:
    """The same text raised as another class is not this site."""
    assert place(raised(TEXT, "RuntimeError"), Index(site(LONG)), None) is None


def test_near_empty_templates_need_their_place() -> None:
    """A template with hardly a word of its own fits half of all messages: class or frame have to be its own."""
    here, there = (Frame(f"/x/site-packages/vllm/{name}.py", 5, "verify") for name in "ab")
    tiny, short = site("{a} is {b}"), site("{a} must be {b}")
    assert place(raised("the flux is low"), Index(tiny), None) is None
    assert place(raised("the flux must be high", "RuntimeError"), Index(short), None) is None
    assert place(raised("the flux must be high", "ValueError", there), Index(short), None) is None
    by_class = place(raised("the flux must be high"), Index(short), None)
    assert by_class is not None
    assert (by_class.site, by_class.confidence) == (short, "similar")
    for text, only in (("the flux is low", tiny), ("the flux must be high", short)):
        placed = place(raised(text, "ValueError", here), Index(only), None)
        assert placed is not None
        assert (placed.site, placed.confidence) == (only, "exact")


def test_same_text_in_several_files() -> None:
    """Without a frame all are candidates; a frame, or a release that only one of them has, decides."""
    one, two = site(LONG, "vllm/a.py", **{"1.0": 5}), site(LONG, "vllm/b.py", **{"1.1": 5})
    undecided = place(raised(TEXT), Index(one, two), None)
    assert undecided is not None
    assert {undecided.site.file, *(each.file for each in undecided.others)} == {"vllm/a.py", "vllm/b.py"}
    by_release = place(raised(TEXT), Index(one, two), "1.1+cpu")
    assert by_release is not None
    assert (by_release.site, by_release.others) == (two, ())
    by_frame = place(raised(TEXT, "ValueError", Frame("/x/vllm/a.py", 5, "verify")), Index(two, one), None)
    assert by_frame is not None
    assert (by_frame.site, by_frame.others) == (one, ())


def test_a_cut_message_needs_enough_of_it() -> None:
    """Half of a long message is placed and said to be cut; a few words are not."""
    placed = place(raised(TEXT[:50]), Index(site(LONG)), None)
    assert placed is not None
    assert (placed.confidence, placed.captures["budget"]) == ("truncated", 64)
    assert place(raised(TEXT[:16]), Index(site(LONG)), None) is None


def test_a_traceback_that_ends_elsewhere_is_not_overruled() -> None:
    """What another package raised is placed nowhere in vLLM, however well a template of vLLM fits."""
    other = Frame("/x/site-packages/other/x.py", 5, "run")
    assert place(raised(TEXT, "ValueError", other), Index(site(LONG)), None) is None
    own = Frame("/x/site-packages/vllm/c.py", 5, "run")
    assert (
        place(raised("sizes are not equal (1)", "ValueError", own), Index(site("sizes are not equal ({n})")), None)
        is None
    )
    assert place(raised(TEXT, "ValueError", own), Index(site(LONG)), None) is not None


def test_what_python_itself_says_is_of_no_place() -> None:
    """vLLM raises AttributeError in Python's words too: without a traceback that says nothing."""
    index = Index(site("{type(self).__name__!r} object has no attribute {name!r}", of="AttributeError"))
    text = "'NoneType' object has no attribute 'name'"
    assert place(raised(text, "AttributeError"), index, None) is None
    assert (
        place(raised(text, "AttributeError", Frame("/x/site-packages/vllm/a.py", 5, "verify")), index, None) is not None
    )
