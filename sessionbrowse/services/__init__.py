"""The operations of sessionbrowse (list, search, fork, rename, …), one function each, without any user interface."""
