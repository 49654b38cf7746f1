/*
 * A ring buffer of bytes: its checks, and what is written to it when it is nearly full.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPACITY 16

struct ring {
    uint8_t bytes[CAPACITY];
    uint32_t head;      /* the next byte that is written */
    uint32_t count;
    uint32_t lost;
    bool overwrite;     /* the oldest bytes, when it is full */
};

/* The bytes that were stored, or -1 for a ring that is not one. */
int ring_write(struct ring *r, const uint8_t *data, size_t n)
{
    if (r->head >= CAPACITY || r->count > CAPACITY)
        return -1;
    int stored = 0;
    for (size_t i = 0; i < n; i++) {
        if (r->count == CAPACITY) {
            r->lost++;
            if (!r->overwrite)
                continue;
            r->count--;
        }
        r->bytes[r->head] = data[i];
        r->head++;
        if (r->head == CAPACITY)
            r->head = 0;
        r->count++;
        stored++;
    }
    return stored;
}

/* The place of a byte, counted from the oldest, or -1. */
int ring_find(const struct ring *r, uint8_t wanted)
{
    if (r->head >= CAPACITY || r->count > CAPACITY)
        return -1;
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t at = r->head + CAPACITY - r->count + i;
        if (at >= CAPACITY)
            at -= CAPACITY;
        if (r->bytes[at] == wanted)
            return (int)i;
    }
    return -1;
}
