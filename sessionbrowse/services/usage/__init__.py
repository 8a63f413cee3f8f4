"""What sessions cost: requests counted once over all files, in rows and as documents."""
