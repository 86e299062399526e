"""Right values for wrong ones: of a closed list, a number, a limit; on the flag that the message means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rapidfuzz import fuzz, process

from triage.diagnose.flags import flag_name, name_of
from triage.diagnose.numerals import UNSET, json_meant, number_meant
from triage.model import FixRecipe, Flag, RunFacts, Scalar

TEXT_LIMIT = 4000
"""Characters of a message's list of arguments or values that are read."""

CLOSE, APART = 86.0, 3.0
"""How alike, of 100, a misspelt word is to what was meant, and by how much more than to any other."""

GIB_ENDINGS = ("-gb", "-gib", "--swap-space", "--kv-offloading-size")
"""Ends of the names of flags whose number is one of GiB."""

FRACTIONS = ("-utilization", "-fraction", "-ratio", "-threshold")
"""Ends of the names of flags whose number is a part of one."""

_ALSO_CALLED = {"fp16": "float16", "half": "float16", "bf16": "bfloat16", "fp32": "float32"}
"""What other programs call the dtypes of PyTorch."""

_QUOTED = re.compile(r"'([^']{0,200})'")


def target_of(
    owner: str, field: Scalar | None, options: Mapping[str, Flag], fields: Mapping[str, Flag]
) -> tuple[str, Flag] | None:
    """The flag that a wrong value was given to, with what the release makes of it; None where none is known.

    Args:
        owner: the flag as argparse writes it, with its other spellings (``--max-model-len/-mml``); with a field, the
            configuration class that holds it.
        field: the field of the class, None where the message names a flag.
        options: the release's flags.
        fields: the fields of the class.
    """
    if not isinstance(field, str):
        names = [flag_name(part.strip()) for part in owner.split("/")]
        return next(((each, options[each]) for each in names if each in options), None)
    own = [(name, each) for name, each in options.items() if each.field == field and each.owner == owner]
    if len(own) == 1:
        return own[0]
    holders = [name for name, each in options.items() if each.of == owner]
    return (f"{holders[0]}.{field}", fields[field]) if len(holders) == 1 and field in fields else None


def corrected(
    problem: str, target: tuple[str, Flag], value: Scalar | None, choices: Scalar | None, facts: RunFacts
) -> Iterator[FixRecipe]:
    """The changes that put a wrong value right; none where what was meant cannot be told.

    Args:
        problem: "choice", "number", "json" or "limit".
        target: the flag and what the release makes of it.
        value: what it was given, None where the message does not say.
        choices: the values that it takes, as the message lists them.
        facts: what the log says of the run.
    """
    name, flag = target
    if problem == "limit":
        if name_of(name.partition(".")[0]) in facts.args:
            yield FixRecipe(title=f"drop {name}", unset=(name,), tradeoff="vLLM's own default is within the limits")
    elif problem == "number" and value is not None:
        yield from _counted(name, flag, str(value))
    elif problem == "json" and value is not None:
        if (meant := json_meant(str(value))) is not None:
            yield FixRecipe(
                title=f"write {name} as JSON that the shell leaves whole",
                set={name: {"text": meant}},
                safety="needs_judgement",
                tradeoff="its quotes put back where the message lacks them",
            )
    elif problem == "choice" and value is not None and choices is not None:
        yield from _chosen(name, str(value), str(choices))


def _chosen(name: str, value: str, choices: str) -> Iterator[FixRecipe]:
    """The value of a closed list that a misspelt one must mean; the message has the list of the release that runs."""
    wanted, choices = value.strip("'\""), choices[:TEXT_LIMIT]
    # The message's own quotes may have ended up outside what was captured; newer Pythons write none.
    texts = _QUOTED.findall(f"'{choices.strip(chr(39))}'") if "'" in choices else choices.split(",")
    texts = [text.strip() for text in texts]
    same = [text for text in texts if plain(text) == plain(wanted)]
    found = process.extract(wanted, texts, scorer=fuzz.ratio, score_cutoff=CLOSE - APART, limit=2)
    close = [text for text, score, _ in found if score >= CLOSE]
    if len(found) > 1 and found[0][1] - found[1][1] < APART:
        close = []
    if (called := _ALSO_CALLED.get(plain(wanted))) in texts and called is not None:
        close = [called]
    for text in (same if len(same) == 1 else close)[:1]:
        yield FixRecipe(
            title=f"write {braced(text)} for {braced(wanted)}",
            set={name: {"text": text}},
            safety="needs_judgement",
            tradeoff=f"of the values of {name} it is the closest",
        )


def _counted(name: str, flag: Flag, text: str) -> Iterator[FixRecipe]:
    """The number that a text must mean, or the flag dropped where it says that none is wanted."""
    if flag.type not in ("int", "float", "count"):
        return
    wanted = text.strip(" '\"")
    if wanted.lower() in UNSET:
        shown = f"'{braced(wanted)}'" if wanted else "an empty value"
        yield FixRecipe(title=f"drop {name}", unset=(name,), tradeoff=f"{shown} is no number; without it vLLM chooses")
    elif (meant := number_meant(wanted, flag.type, in_gib=name.endswith(GIB_ENDINGS))) is not None and not (
        name.endswith(FRACTIONS) and meant.value > 1
    ):
        yield FixRecipe(
            title=f"write {meant.value} for {braced(wanted)}",
            set={name: meant.value},
            safety="safe" if meant.sure else "needs_judgement",
            tradeoff="" if meant.sure else f"{braced(wanted)} read as {meant.value}",
        )


def braced(text: str) -> str:
    """A text for a title, where single braces are expressions."""
    return text[:80].replace("{", "{{").replace("}", "}}")


def plain(text: str) -> str:
    """A word without what tells spellings apart: case, hyphens, blanks."""
    return re.sub(r"[\W_]", "", text).lower()


def constant(value: Scalar) -> object:
    """A value as a recipe's ``set`` holds it, where a bare text would be an expression."""
    return {"text": value} if isinstance(value, str) else value
