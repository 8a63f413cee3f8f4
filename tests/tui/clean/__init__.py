"""Tests of the doctor and the clean-up screen."""
