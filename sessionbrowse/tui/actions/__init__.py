"""Groups of commands that screens share, and what carries changes out for them in the background."""
