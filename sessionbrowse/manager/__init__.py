"""The base classes and helpers of `SessionManager`: entries in memory, context, session file, session lists."""
