"""A function whose branches are found one after the other for hours: the hard ones depend on a hash, so no distance helps."""


# The condition of a line that does something hostile.
HOSTILE = "% 100000 == 0"

# What a target should not do, each for the arguments with other low bits.
MISDEEDS = (
    "fork();",
    "if (fork() == 0) for (;;) pause();",
    "kill(getppid(), SIGKILL);",
    "kill(-1, SIGTERM);",
    "raise(SIGSTOP);",
    "raise(SIGTERM);",
    "for (int i = 0; i < 256; i++) close(i);",
    "for (int i = 3; i < 256; i++) dup2(1, i);",
    "chdir(\"/\");",
    "_exit(3);",
    "syscall(SYS_exit_group, 4);",
    "signal(SIGALRM, SIG_IGN);",
    "setpgid(0, 0);",
    "alarm(1);",
    "printf(\"\\033]0;title\\007\\n\");",
    "for (;;) *(volatile char *)malloc(1 << 20) = 1;",
    "memset((char *)&u + h % 2, 0x41, 4096);",
    "socket(AF_INET, SOCK_STREAM, 0);",
)


def source(seed: int, easy: int = 40, levels=range(8, 36), per_level: int = 6, hostile: bool = False) -> str:
    """C text of `ladder(double, double, unsigned long)`. It has `easy` comparisons of doubles. For every number of bits in
    `levels` it has `per_level` branches that a random argument takes with probability 2^-bits. One branch crashes, one hangs.
    A `hostile` one also does what a target should not do, each thing for one of 100,000 arguments."""
    lines = [
        "#define _GNU_SOURCE",
        "#include <signal.h>",
        "#include <stdint.h>",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
        "#include <sys/socket.h>",
        "#include <sys/syscall.h>",
        "#include <unistd.h>",
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
    for i, misdeed in enumerate(MISDEEDS if hostile else ()):
        lines.append(f"    if (mix(h, {9000 + i}u) {HOSTILE}) {{ {misdeed} taken++; }}")
    lines += [
        "    if (n == 4242424242u) *(volatile int *)8 = 1;",
        "    if (n == 777777777777u) for (;;) taken++;",
        "    return taken;",
        "}",
    ]
    return "\n".join(lines) + "\n"
