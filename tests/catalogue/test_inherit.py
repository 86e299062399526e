from __future__ import annotations

from typing import Any

from triage.catalogue.inherit import inherit, overlay, resolve
from triage.catalogue.record import parse_record, to_json
from triage.model import Cause


def foreign(**fields: Any) -> Cause:
    """A user's record without the triage object."""
    record = {"id": "feedfeedfeedfeed", "slug": "foreign", "errorMessage": "another message entirely"} | fields
    return parse_record(record, "user.json", user=True)


def test_same_message_wins_and_inherits(own: dict[str, Any]) -> None:
    """A user's record with a bundled message replaces it, and takes over computed fixes and typed captures."""
    base = parse_record(own, "base.json")
    user = foreign(errorMessage=own["errorMessage"].replace(" ", "  "), documentation="Mine.", solutions=["Advice"])
    (cause,) = overlay([base], [user])
    assert (cause.id, cause.slug, cause.user) == ("feedfeedfeedfeed", "foreign", True)
    assert cause.fixes == base.fixes
    assert cause.captures["seats"].type == "int"
    assert (cause.title, cause.summary, cause.scope) == (base.title, base.summary, "startup")
    assert cause.exception_class == "ValueError"
    assert cause.aliases == (base.slug, base.id)
    assert to_json(cause) == to_json(user)


def test_same_id_slug_or_alias_wins(own: dict[str, Any]) -> None:
    """Any shared name is enough; the bundled wordings are matched on."""
    own["triage"]["aliases"] = ["known-elsewhere"]
    base = parse_record(own, "base.json")
    for fields in ({"id": own["id"]}, {"slug": "seats-above-rows"}, {"id": "known-elsewhere"}):
        (cause,) = overlay([base], [foreign(**fields)])
        assert cause.user
        assert [template.text for template in cause.templates] == ["another message entirely", own["errorMessage"]]


def test_what_the_user_gives_stays(own: dict[str, Any]) -> None:
    """Fields of the user's triage object win, down to single captures."""
    base = parse_record(own, "base.json")
    triage = {
        "title": "mine",
        "captures": {"seats": {"type": "str"}},
        "fixes": [{"title": "own fix", "unset": ["--seats"]}],
    }
    cause = inherit(foreign(errorMessage=own["errorMessage"], severity="warning", triage=triage), base)
    assert cause.title == "mine"
    assert cause.fixes[0].title == "own fix"
    assert (cause.captures["seats"].type, cause.captures["rows"].type) == ("str", "int")
    assert cause.severity == "warning"
    assert cause.summary == base.summary


def test_holes_take_the_names_that_fixes_expect(own: dict[str, Any]) -> None:
    """A record that spells its holes otherwise, or has a bare pattern, works with the inherited fixes."""
    base = parse_record(own, "base.json")
    for fields in (
        {"errorMessage": "seats ({self.a}) must not exceed rows ({self.b})."},
        {"errorMessage": None, "messagePattern": r"seats \((.+?)\) must not exceed rows \((.+?)\)\."},
    ):
        (cause,) = overlay([base], [foreign(**fields)])
        assert [hole.name for hole in cause.templates[0].holes] == ["seats", "rows"]
        assert len(cause.templates) == 1


def test_own_advice_stays_over_advice(own: dict[str, Any]) -> None:
    """Where the bundled record computes nothing, the user's own solutions are the fixes."""
    del own["triage"]["fixes"]
    (cause,) = overlay([parse_record(own, "b")], [foreign(id=own["id"], solutions=["Mine"])])
    assert [fix.title for fix in cause.fixes] == ["Mine"]


def test_two_records_share_the_variants_of_one(own: dict[str, Any]) -> None:
    """Two users' records for two wordings of one bundled cause: no message belongs to both."""
    own["triage"]["variants"] = ["second wording of it", "third wording of it"]
    first = foreign(errorMessage=own["errorMessage"])
    second = foreign(id="beef", slug="other", errorMessage="second wording of it")
    causes = {cause.slug: cause for cause in overlay([parse_record(own, "b")], [first, second])}
    assert set(causes) == {"foreign", "other"}
    assert [template.text for template in causes["foreign"].templates] == [own["errorMessage"], "third wording of it"]
    assert [template.text for template in causes["other"].templates] == ["second wording of it"]
    assert causes["other"].fixes == causes["foreign"].fixes
    assert "seats-above-rows" in causes["foreign"].aliases
    assert "seats-above-rows" not in causes["other"].aliases


def test_references_follow_the_winner(own: dict[str, Any]) -> None:
    """Other causes that name the replaced one, or an alias, now name the winner."""
    other = foreign(
        slug="other", id="1", triage={"outranks": ["seats-above-rows"], "related": [own["id"], "gone", "*"]}
    )
    causes = overlay([parse_record(own, "b"), other], [foreign(id=own["id"])])
    renamed = next(cause for cause in causes if cause.slug == "other")
    assert renamed.outranks == ("foreign",)
    assert renamed.related == ("foreign", "gone", "*")


def test_unrelated_records_stand_beside(own: dict[str, Any]) -> None:
    """A record that shares nothing is added; causes come sorted by slug."""
    causes = overlay([parse_record(own, "b")], [foreign()])
    assert [cause.slug for cause in causes] == ["foreign", "seats-above-rows"]
    assert resolve(reversed(causes)) == causes
