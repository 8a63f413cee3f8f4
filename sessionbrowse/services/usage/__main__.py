"""Entry point of the process that counts: `python -m sessionbrowse.services.usage`, a question on standard input."""

from __future__ import annotations

from sessionbrowse.services.usage.question import main

if __name__ == "__main__":
    main()
