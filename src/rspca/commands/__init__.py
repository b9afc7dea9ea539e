"""The commands of rspca, one file each: read, call the library, write. No mathematics, no heavy import at the top."""
