from __future__ import annotations

from pathlib import Path

import pytest

from triage.catalogue import find, load, related
from triage.catalogue.record import parse_record
from triage.model import Catalogue, Cause
from triage.pipeline import recognised

SEEDS = Path(__file__).parent.parent / "data" / "seeds"
BATCH = "3ca77c0599b73dfa"
DRAFT = "f5eb2fb0db7e5cea"


def looked_up(catalogue: Catalogue, query: str) -> Cause | list[Cause]:
    """As the command looks records up, messages as the pipeline recognises them."""
    return find(catalogue, query, lambda text: recognised(text, catalogue))


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load([SEEDS], bundled=False)


@pytest.fixture(scope="module")
def bundled() -> Catalogue:
    return load()


@pytest.mark.parametrize(
    ("query", "identity"),
    [
        (BATCH, BATCH),
        ("max-num-batched-tokens-self-max-num-batched-toke-3ca77c", BATCH),
        ("max_num_batched_tokens ({self.max_num_batched_tokens}) must", BATCH),
        ("max_num_batched_tokens ({self.max_num_ba", BATCH),
        ("max_num_scheduled_tokens is set to {self.scheduler_config.ma", DRAFT),
        ("max_num_scheduled_tokens is set to {self.s...", DRAFT),
        ("max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).", BATCH),
        ("ValueError: max_num_batched_tokens (64) must be greater than or equal\n  to max_num_seqs (256).", BATCH),
        (
            "Value error, max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256). [type=v",
            BATCH,
        ),
        ("max_num_batched_tokens (64) must be greater than or eq", BATCH),
        ("max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (25", BATCH),
        ("ValueError: max_num_scheduled_tokens is set to 0 based on the speculative dec", DRAFT),
    ],
)
def test_one_record_is_meant(catalogue: Catalogue, query: str, identity: str) -> None:
    """Slug, id, title, cut title, message, wrapped, prefixed or cut message: each finds its record."""
    found = looked_up(catalogue, query)
    assert isinstance(found, Cause)
    assert found.id == identity


def test_alias_is_meant(bundled: Catalogue) -> None:
    """Foreign ids and slugs find the bundled record."""
    found = looked_up(bundled, BATCH)
    assert isinstance(found, Cause)
    assert found.slug == "batched-tokens-below-num-seqs"


def test_typo_offers_the_nearest_first(bundled: Catalogue) -> None:
    """A slug with a typo names no record for certain; the nearest is offered first."""
    found = looked_up(bundled, "batched-tokens-below-num-seq")
    assert isinstance(found, list)
    assert found[0].slug == "batched-tokens-below-num-seqs"
    assert len(found) <= 5


def test_ambiguous_beginning_offers_all(catalogue: Catalogue) -> None:
    """A beginning that several messages share is not decided."""
    found = looked_up(catalogue, "max_num_")
    assert isinstance(found, list)
    assert {cause.id for cause in found} >= {BATCH, DRAFT}


@pytest.mark.parametrize("query", ["", "zzz", "(64)", "RuntimeError:", "max_num_batched_tokens (64) is larger than x"])
def test_other_texts_mean_no_record(catalogue: Catalogue, query: str) -> None:
    """A text that is no record's message never names one for certain."""
    assert not isinstance(looked_up(catalogue, query), Cause)


def test_cut_titles_are_looked_up(bundled: Catalogue) -> None:
    """The seed page's related titles, cut as they are, lead to the records they mean."""
    (page,) = [cause for cause in load([SEEDS], bundled=False).causes if cause.id == DRAFT]
    found = dict(related(page, bundled))
    assert [cause.slug if cause else None for cause in found.values()] == [
        "no-slots-for-draft-tokens",
        "batched-tokens-below-model-len",
        "batched-tokens-below-num-seqs",
        "long-prefill-threshold-above-model-len",
        "synthetic-acceptance-not-given",
    ]


def test_unknown_relations_stay_as_given() -> None:
    """A relation that leads nowhere, or to several records, is listed as it is."""
    record = {"errorMessage": "x", "relatedErrors": ["gone", "se"], "triage": {"related": ["nothing"]}}
    cause = parse_record(record, "x")
    assert related(cause, Catalogue((cause,))) == [("nothing", None), ("gone", None), ("se", None)]


@pytest.mark.parametrize(
    "query", ["CUDA out of memory", "cuda out of memory.", "CUDA out of memory. Tried to allocate"]
)
def test_the_words_of_a_slug_and_a_unique_beginning_are_not_ambiguous(bundled: Catalogue, query: str) -> None:
    """Another message that begins with the same words does not matter where a record is called by them."""
    found = looked_up(bundled, query)
    assert isinstance(found, Cause)
    assert found.slug == "cuda-out-of-memory"


def test_a_whole_message_is_meant_rather_than_the_beginning_of_another() -> None:
    """A message that another one goes on from means the shorter one."""
    catalogue = Catalogue(
        tuple(
            parse_record({"id": str(number), "slug": slug, "errorMessage": message}, slug)
            for number, (slug, message) in enumerate(
                (("longer", "the seat {n} is taken by {other}"), ("shorter", "the seat {n} is taken"))
            )
        )
    )
    for query in ("the seat {n} is taken", "the seat 5 is taken", "ValueError: the seat 5 is taken"):
        found = looked_up(catalogue, query)
        assert isinstance(found, Cause)
        assert found.slug == "shorter"


def test_every_template_of_ours_means_its_record(bundled: Catalogue) -> None:
    """The text of a message as the sources have it means its record; of several with one text, the unconditional.

    Records that all want more than the text (a class, a frame) are named together.
    """
    for cause in bundled.causes:
        for template in cause.templates:
            found = looked_up(bundled, template.text)
            if not isinstance(found, Cause):
                assert cause.slug in {one.slug for one in found}, template.text
                assert all(one.when is not None for one in found), template.text
                continue
            if cause.when is None or template.text not in [one.text for one in found.templates]:
                assert found.slug == cause.slug
