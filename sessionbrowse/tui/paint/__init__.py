"""Styled spans, themes, and what touches private names of Textual."""
