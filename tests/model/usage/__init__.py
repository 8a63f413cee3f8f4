"""Tests of `model/usage`."""
