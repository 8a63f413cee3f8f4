"""Clipboard, editor, image viewer and terminal, with temporary copies of files for them."""
