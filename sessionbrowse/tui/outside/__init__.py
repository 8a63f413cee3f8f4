"""Run programs outside the browser: clipboard, editor, image viewer, agents; give them temporary copies of files."""
