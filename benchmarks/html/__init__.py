"""report.html: the results as one page of plots and tables that needs no network and no script."""
