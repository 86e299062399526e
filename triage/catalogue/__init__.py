"""The catalogue of causes: record schema, loading, templates, pages, explanations, checks."""

from triage.catalogue.draft import draft
from triage.catalogue.explain import as_json, as_page, as_text
from triage.catalogue.learned import DATA_VARIABLE, data_folder, learned_files
from triage.catalogue.lint import Problem, lint
from triage.catalogue.load import bundled_patterns, load
from triage.catalogue.lookup import find, related
from triage.catalogue.schema import schema

__all__ = [
    "DATA_VARIABLE",
    "Problem",
    "as_json",
    "as_page",
    "as_text",
    "bundled_patterns",
    "data_folder",
    "draft",
    "find",
    "learned_files",
    "lint",
    "load",
    "related",
    "schema",
]
