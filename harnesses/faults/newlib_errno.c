/* newlib's errno is a member of its reentrancy structure. Here it is a variable of
   its own, which the emitted tests do not check: the faults are those of values. */
static int number;

int *newlib_errno(void) __asm__("__errno");

int *newlib_errno(void)
{
    return &number;
}
