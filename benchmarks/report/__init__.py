"""The pages that show results."""
