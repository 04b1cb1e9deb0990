"""XXH3 with 128 bits, from its specification (doc/xxhash_spec.md of the xxHash project), seed 0: hasher() is the package xxhash's if that is installed, and
else this one, which does some tens of megabytes a second.
"""
import struct

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
P32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c'
    '3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364ea'
    'c5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e')


def u32(b, at):
    return int.from_bytes(b[at:at + 4], 'little')


def u64(b, at):
    return int.from_bytes(b[at:at + 8], 'little')


def swap(value, size):
    return int.from_bytes(value.to_bytes(size, 'little'), 'big')


def fold(a, b):
    product = a * b
    return (product & M64) ^ (product >> 64)


def xorshift(value, shift):
    return value ^ value >> shift


def avalanche(h):
    return xorshift(xorshift(h, 37) * MX1 & M64, 32)


def avalanche64(h):
    return xorshift(xorshift(xorshift(h, 33) * P64[1] & M64, 29) * P64[2] & M64, 32)


def short(b):
    """Up to 16 bytes."""
    n = len(b)
    if n == 0:
        return avalanche64(u64(SECRET, 64) ^ u64(SECRET, 72)), avalanche64(u64(SECRET, 80) ^ u64(SECRET, 88))
    if n <= 3:
        low = b[n - 1] | n << 8 | b[0] << 16 | b[n >> 1] << 24
        swapped = swap(low, 4)
        high = (swapped << 13 | swapped >> 19) & M32
        return avalanche64(low ^ u32(SECRET, 0) ^ u32(SECRET, 4)), avalanche64(high ^ u32(SECRET, 8) ^ u32(SECRET, 12))
    if n <= 8:
        keyed = (u32(b, 0) | u32(b, n - 4) << 32) ^ u64(SECRET, 16) ^ u64(SECRET, 24)
        product = keyed * (P64[0] + (n << 2) & M64)
        low, high = product & M64, product >> 64
        high = high + (low << 1) & M64
        low ^= high >> 3
        low = xorshift(xorshift(low, 35) * MX2 & M64, 28)
        return low, avalanche(high)
    low = u64(b, 0) ^ u64(b, n - 8) ^ u64(SECRET, 32) ^ u64(SECRET, 40)
    high = u64(b, n - 8) ^ u64(SECRET, 48) ^ u64(SECRET, 56)
    product = low * P64[0]
    low, upper = (product & M64) + (n - 1 << 54) & M64, product >> 64
    upper = upper + high + (high & M32) * (P32[1] - 1) & M64
    low ^= swap(upper, 8)
    product = low * P64[1]
    low, high = product & M64, (product >> 64) + upper * P64[1] & M64
    return avalanche(low), avalanche(high)


def middle(b):
    """17 to 240 bytes."""
    n = len(b)
    acc = [n * P64[0] & M64, 0]

    def mix(at, then, key):
        acc[0] = (acc[0] + fold(u64(b, at) ^ u64(SECRET, key), u64(b, at + 8) ^ u64(SECRET, key + 8)) & M64) ^ (u64(b, then) + u64(b, then + 8) & M64)
        acc[1] = (acc[1] + fold(u64(b, then) ^ u64(SECRET, key + 16), u64(b, then + 8) ^ u64(SECRET, key + 24)) & M64) ^ (u64(b, at) + u64(b, at + 8) & M64)

    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            mix(16 * i, n - 16 * (i + 1), 32 * i)
    else:
        for i in range(4):
            mix(32 * i, 32 * i + 16, 32 * i)
        acc = [avalanche(acc[0]), avalanche(acc[1])]
        for i in range(4, n // 32):
            mix(32 * i, 32 * i + 16, 3 + 32 * (i - 4))
        mix(n - 16, n - 32, 136 - 17 - 16)
    low = acc[0] + acc[1] & M64
    high = acc[0] * P64[0] + acc[1] * P64[3] + n * P64[1] & M64
    return avalanche(low), -avalanche(high) & M64


STRIPE, STRIPES = 64, (len(SECRET) - 64) // 8
BLOCK = STRIPE * STRIPES
KEYS = [struct.unpack_from('<8Q', SECRET, 8 * i) for i in range(STRIPES)]
SCRAMBLE, LAST = struct.unpack_from('<8Q', SECRET, len(SECRET) - 64), struct.unpack_from('<8Q', SECRET, len(SECRET) - 71)


class Hasher:
    def __init__(self):
        self.length, self.rest, self.tail = 0, b'', b''
        self.acc = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]

    def update(self, b):
        self.length += len(b)
        b = self.rest + b
        whole = max(0, len(b) - 1) // BLOCK * BLOCK  # the last byte's block waits: it may be the last one
        for at in range(0, whole, BLOCK):
            self.stripes(b, at, STRIPES)
            acc = self.acc
            for i in range(8):
                acc[i] = (xorshift(acc[i], 47) ^ SCRAMBLE[i]) * P32[0] & M64
        if whole:
            self.tail = b[whole - STRIPE:whole]
        self.rest = b[whole:]

    def stripes(self, b, at, count):
        a0, a1, a2, a3, a4, a5, a6, a7 = self.acc
        for i in range(count):
            d0, d1, d2, d3, d4, d5, d6, d7 = struct.unpack_from('<8Q', b, at + STRIPE * i)
            k0, k1, k2, k3, k4, k5, k6, k7 = KEYS[i]
            k0, k1, k2, k3, k4, k5, k6, k7 = k0 ^ d0, k1 ^ d1, k2 ^ d2, k3 ^ d3, k4 ^ d4, k5 ^ d5, k6 ^ d6, k7 ^ d7
            a0 += d1 + (k0 & M32) * (k0 >> 32)
            a1 += d0 + (k1 & M32) * (k1 >> 32)
            a2 += d3 + (k2 & M32) * (k2 >> 32)
            a3 += d2 + (k3 & M32) * (k3 >> 32)
            a4 += d5 + (k4 & M32) * (k4 >> 32)
            a5 += d4 + (k5 & M32) * (k5 >> 32)
            a6 += d7 + (k6 & M32) * (k6 >> 32)
            a7 += d6 + (k7 & M32) * (k7 >> 32)
        self.acc = [a & M64 for a in (a0, a1, a2, a3, a4, a5, a6, a7)]

    def hexdigest(self):
        low, high = self.digest()
        return '%016x%016x' % (high, low)

    def digest(self):
        n, b = self.length, self.rest
        if n <= 16:
            return short(b)
        if n <= 240:
            return middle(b)
        kept = list(self.acc)
        self.stripes(b, 0, (len(b) - 1) // STRIPE)
        acc = self.acc
        self.acc = kept
        last = struct.unpack('<8Q', (self.tail + b)[-STRIPE:])
        for i in range(8):
            k = last[i] ^ LAST[i]
            acc[i ^ 1] = acc[i ^ 1] + last[i] & M64
            acc[i] = acc[i] + (k & M32) * (k >> 32) & M64

        def merge(key, start):
            for i in range(4):
                start += fold(acc[2 * i] ^ u64(SECRET, key + 16 * i), acc[2 * i + 1] ^ u64(SECRET, key + 16 * i + 8))
            return avalanche(start & M64)

        return merge(11, n * P64[0] & M64), merge(len(SECRET) - 64 - 11, ~(n * P64[1]) & M64)


try:
    from xxhash import xxh3_128 as hasher
except ImportError:
    hasher = Hasher
