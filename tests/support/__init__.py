"""What tests share: data, enumeration of supports, the command line, files to damage."""
