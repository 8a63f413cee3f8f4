"""Styled text, colour themes, output to the terminal, and the code that uses private names of Textual."""
