"""Tests of the statistics screen."""
