"""Word segmentation of text without spaces."""
