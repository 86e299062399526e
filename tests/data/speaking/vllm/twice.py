# ruff: noqa
"""The same text at two places, and one that another class says; see errors.py."""


def first(rope):
    raise ValueError(f"The rope {rope} is tied to the wrong bollard.")


def second(rope):
    raise ValueError(f"The rope {rope} is tied to the wrong bollard.")


def third(rope):
    raise OSError(f"The rope {rope} is tied to the wrong bollard.")
