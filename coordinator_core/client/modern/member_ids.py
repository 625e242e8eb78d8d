"""Member ids that clients make themselves: 16 random bytes in base64."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode


def member_id_of(random_bytes: bytes, *, is_librdkafka: bool) -> str:
    """22 characters.  Java uses the alphabet with - and _ (Uuid), and librdkafka the alphabet with
    + and /.

    The bytes become a UUID of version 4.  Java generates another id if the id begins with a dash;
    the model replaces the first character instead.
    """
    data = bytearray(random_bytes[:16])
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    encode = b64encode if is_librdkafka else urlsafe_b64encode
    text = encode(bytes(data)).decode()[:22]
    return "A" + text[1:] if text.startswith("-") else text
