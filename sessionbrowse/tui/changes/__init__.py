"""Commands that change sessions, and the runner that carries them out in the background."""
