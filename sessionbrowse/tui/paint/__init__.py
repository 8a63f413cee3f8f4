"""Styled spans, themes, and the code that uses private names of Textual."""
