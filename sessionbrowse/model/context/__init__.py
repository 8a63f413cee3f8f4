"""Build the context, the messages that the model would receive at an entry; give a reason for each omitted entry."""
