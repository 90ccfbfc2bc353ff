"""How much of a program's output to read at once, by what came before. Pure."""

__all__ = ["FIRST_BYTES", "LONGEST_BYTES", "LONG_BYTES", "READ_BYTES", "WAITING_BYTES", "ReadSize"]

READ_BYTES = 64 * 1024
"""How much is read at once while there is more: larger reads cost page faults (34 µs against 61 µs a round trip) and
cache misses (a tenth of the time of a stream of short lines)."""

LONG_BYTES = 256 * 1024
"""How much is read at once in the middle of a long line, of which nothing can be made before its end comes: so the
reader waits less often for the interpreter (an eighth of the time of lines of 256 KiB and of 900 KiB, or more)."""

LONGEST_BYTES = 768 * 1024
"""How much at most where lines are still longer: as many times `LONG_BYTES` as the last of them had, so that most of a
line is read while another thread makes a message of the one before (a twentieth of the time of lines of 900 KiB). With
a whole line or more at once it took a third longer, for that leaves a processor's cache."""

WAITING_BYTES = 4 * 1024
"""How much is read at once where the read may have to wait: its buffer is held meanwhile, by every idle session."""

FIRST_BYTES = 16 * 1024
"""How much is read at first: the answer to the handshake, of some 8 KiB, comes whole then."""


class ReadSize:
    """Says how much to read next."""

    __slots__ = ("_begun", "_long", "next")

    def __init__(self) -> None:
        self.next = FIRST_BYTES
        """In bytes."""
        self._long = LONG_BYTES
        self._begun = 0  # how much has come of a line that has not ended, as far as it is long

    @property
    def is_long(self) -> bool:
        """Whether the next read is one in the middle of a long line."""
        return self.next >= LONG_BYTES

    def note(self, data: bytes) -> None:
        """Note what was read."""
        size, most = len(data), self.next
        # After that much, more is on its way, and the next read hardly waits.
        self.next = READ_BYTES if size >= (most if most < READ_BYTES else READ_BYTES // 8) else WAITING_BYTES
        if size < READ_BYTES:
            self._begun = 0
            return
        last = data.rfind(b"\n")  # from the end, for there a long line ends: to look through all of it takes its time
        if last >= 0 and self._begun:
            line = self._begun + data.find(b"\n")
            self._long = max(LONG_BYTES, min(LONGEST_BYTES, line // LONG_BYTES * LONG_BYTES))
        self._begun = size - last - 1 if last >= 0 else self._begun + size
        if data.find(b"\n", 0, READ_BYTES) < 0:
            self.next = self._long
