"""Reads and writes 8-bit grey PNG images, not interlaced, with nothing but zlib (PNG specification)."""
import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write(path, image):
    """Writes a two-dimensional uint8 array as a grey image."""
    height, width = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image.astype(np.uint8))  # filter type 0: none
    with open(path, "wb") as file:
        file.write(SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                   _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b""))


def _unfilter(kind, row, above):
    """Undoes the filter of one row of one-byte pixels."""
    if kind == 0:
        return row
    if kind == 2:
        return row + above
    result = np.zeros_like(row)
    left = corner = 0
    for x, value in enumerate(row.tolist()):
        up = int(above[x])
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:  # Paeth: the neighbour closest to left + up - corner
            estimate = left + up - corner
            guess = min((left, up, corner), key=lambda neighbour: abs(estimate - neighbour))
        else:
            raise ValueError(f"filter type {kind} does not exist")
        left, corner = (value + guess) & 255, up
        result[x] = left
    return result


def read(path):
    """A grey image as a two-dimensional uint8 array."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != SIGNATURE:
        raise ValueError(f"{path} is no PNG image")
    position, packed, header = 8, b"", None
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position:position + 8])
        body = data[position + 8:position + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        position += 12 + length
    width, height, depth, colour, _, _, interlaced = header
    if (depth, colour, interlaced) != (8, 0, 0):
        raise ValueError(f"{path} is not 8-bit grey without interlacing")
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width + 1)
    image = np.zeros((height, width), np.uint8)
    above = np.zeros(width, np.uint8)
    for y in range(height):
        above = image[y] = _unfilter(lines[y, 0], lines[y, 1:], above)
    return image
