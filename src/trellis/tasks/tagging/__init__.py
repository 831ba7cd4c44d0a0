"""Label sequences: taggers, their training and their files."""
