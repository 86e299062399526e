"""Facts read out of package sources: where messages are emitted, and which flags a release has.

No source code leaves this room: what it gives back are templates, names, files and line numbers.
The command for developers is ``python -m triage.source`` (see ``__main__``).
"""
