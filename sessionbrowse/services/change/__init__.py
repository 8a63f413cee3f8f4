"""The changes of a session, one module for each verb."""
