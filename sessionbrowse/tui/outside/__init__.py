"""What leaves the browser, or is lent: the clipboard, editors and viewers with copies of files, the terminal."""
