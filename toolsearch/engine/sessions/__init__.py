"""What one conversation was handed: a list of tools that only grows, each definition fixed to the byte."""
