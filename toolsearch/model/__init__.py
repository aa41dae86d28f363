"""The words everything uses: contracts, requests, answers, reasons, limits, errors. Imports nothing of ours."""
