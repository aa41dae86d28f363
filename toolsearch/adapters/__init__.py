"""Harness SDKs: each adapter a small module over one `ToolSet`, its SDK an extra and imported only with it."""
