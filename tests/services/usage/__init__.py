"""Tests of `services/usage`."""
