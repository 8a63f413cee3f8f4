"""Sessions of other machines: looks at a machine over ssh, and the mirror of its sessions here."""
