"""Text -> unit vectors. One encoder a file, each behind `protocol.Encoder`."""
