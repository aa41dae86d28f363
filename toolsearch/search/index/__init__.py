"""Snapshots: postings, vectors, experience, and the DocSet they are searched over."""
