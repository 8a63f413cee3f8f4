"""Carry a session to another agent."""
