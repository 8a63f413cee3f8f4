"""Sessions of other machines: a look fetches the session files of a machine over ssh into a mirror here."""
