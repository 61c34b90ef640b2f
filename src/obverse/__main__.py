"""``python -m obverse``."""

from obverse.cli import main

main()
