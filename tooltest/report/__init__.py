"""What a run found, for machines and for people. Pure, but for the files that are read and written."""
