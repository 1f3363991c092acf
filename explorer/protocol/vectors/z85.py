"""Z85, the Base85 variant of deletion vector descriptors (spec: Deletion Vector Descriptor Schema).

Four bytes, big-endian, become five characters: `86 4f d2 6f b5 59 f7 5b`
becomes `HelloWorld`. What is not a multiple of four is filled up with zero bytes;
some writers put `#` instead before the characters of the last one to three
bytes, which five characters in their range never begin with: `##093` is `03 00`.
"""

from __future__ import annotations

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_FILLER = "#"
_DIGITS = {character: digit for digit, character in enumerate(_ALPHABET)}

_WORTH_NUMPY = 1024
"""Bytes from which on an import of numpy is sooner back than its time: 4 ns a byte and not 200."""

_NO_DIGIT = 255


def render_z85(data: bytes) -> str:
    """The characters for `data`, filled up with zero bytes to a multiple of four."""
    padded = data + bytes(-len(data) % 4)
    if len(padded) >= _WORTH_NUMPY:
        return _render_many(padded)
    characters: list[str] = []
    for start in range(0, len(padded), 4):
        word = int.from_bytes(padded[start : start + 4], "big")
        digits: list[str] = []
        for _ in range(5):
            word, digit = divmod(word, 85)
            digits.append(_ALPHABET[digit])
        characters.extend(reversed(digits))
    return "".join(characters)


def parse_z85(text: str) -> bytes:
    """The bytes that `text` stands for, with the zero bytes that filled them up.

    Raises ValueError where `text` is not Z85.
    """
    if len(text) % 5:
        raise ValueError("its length is not a multiple of five")
    if len(text) >= _WORTH_NUMPY:
        # the last characters may be fewer bytes
        return _parse_many(text[:-5]) + parse_z85(text[-5:])
    words: list[bytes] = []
    last = len(text) - 5
    for start in range(0, len(text), 5):
        characters, size = text[start : start + 5], 4
        if start == last and characters[0] == _FILLER:
            characters = characters.lstrip(_FILLER)
            size = len(characters) - 1
        word = 0
        for character in characters:
            if (digit := _DIGITS.get(character)) is None:
                raise ValueError("it holds a character outside the Z85 alphabet")
            word = word * 85 + digit
        if size < 1 or word >= 256**size:
            raise ValueError("the characters of a word exceed its bytes")
        words.append(word.to_bytes(size, "big"))
    return b"".join(words)


def _render_many(data: bytes) -> str:
    """As `render_z85`, of a multiple of four bytes."""
    import numpy as np  # noqa: PLC0415  # the log is read without it

    words = np.frombuffer(data, ">u4").astype(np.uint32)
    digits = np.empty((len(words), 5), np.uint8)
    for at in reversed(range(5)):
        words, digits[:, at] = np.divmod(words, 85)
    return np.frombuffer(_ALPHABET.encode(), np.uint8)[digits].tobytes().decode()


def _parse_many(text: str) -> bytes:
    """As `parse_z85`, where no word is shorter than four bytes."""
    import numpy as np  # noqa: PLC0415  # as above

    known = np.full(256, _NO_DIGIT, np.uint8)
    known[np.frombuffer(_ALPHABET.encode(), np.uint8)] = np.arange(len(_ALPHABET))
    digits = known[np.frombuffer(text.encode("latin-1", "ignore"), np.uint8)]
    if len(digits) != len(text) or (digits == _NO_DIGIT).any():
        raise ValueError("it holds a character outside the Z85 alphabet")
    digits = digits.reshape(-1, 5)
    words = np.zeros(len(digits), np.uint64)
    for at in range(5):
        words = words * np.uint64(85) + digits[:, at]
    if (words >= 2**32).any():
        raise ValueError("the characters of a word exceed its bytes")
    return words.astype(">u4").tobytes()
