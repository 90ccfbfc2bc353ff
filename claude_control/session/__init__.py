"""One live conversation with one program: threads, futures and what a user holds."""
