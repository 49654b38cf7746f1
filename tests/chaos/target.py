"""A function whose branches are found one after the other for hours: the hard ones depend on a hash, so no distance helps."""


def source(seed: int, easy: int = 40, levels=range(8, 36), per_level: int = 6) -> str:
    """C text of `ladder(double, double, unsigned long)`. It has `easy` comparisons of doubles. For every number of bits in
    `levels` it has `per_level` branches that a random argument takes with probability 2^-bits. One branch crashes, one hangs."""
    lines = [
        "#include <stdint.h>",
        "#include <string.h>",
        "static uint64_t mix(uint64_t x, uint64_t k)",
        "{ x ^= k; x *= 0x9e3779b97f4a7c15u; x ^= x >> 29; x *= 0xbf58476d1ce4e5b9u; x ^= x >> 32; return x; }",
        "int ladder(double a, double b, unsigned long n)",
        "{",
        "    uint64_t u, v; int taken = 0;",
        "    memcpy(&u, &a, 8); memcpy(&v, &b, 8);",
        f"    uint64_t h = mix(u, {seed}u) ^ mix(v, n);",
    ]
    for i in range(easy):
        lines.append(f"    if (a * {i + 1}.5 + b == {i * 37 + 3}.25) taken++;")
    for bits in levels:
        for i in range(per_level):
            lines.append(f"    if ((mix(h, {bits * 100 + i}u) >> {64 - bits}) == 0) taken++;")
    lines += [
        "    if (n == 4242424242u) *(volatile int *)8 = 1;",
        "    if (n == 777777777777u) for (;;) taken++;",
        "    return taken;",
        "}",
    ]
    return "\n".join(lines) + "\n"
