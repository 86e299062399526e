"""From a wall of vLLM log to the one cause, where it was raised, and the command that fixes it."""
