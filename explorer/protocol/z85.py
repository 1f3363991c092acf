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


def render_z85(data: bytes) -> str:
    """The characters for `data`, filled up with zero bytes to a multiple of four."""
    padded = data + bytes(-len(data) % 4)
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
