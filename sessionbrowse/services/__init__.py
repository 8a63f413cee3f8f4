"""The operations that users request (list, search, fork, rename, …), one function each, without any user interface."""
