"""Screens of what could be mended or could go: the doctor, and the clean-up of a store."""
