/* The loops of barriers.rs as a C programmer would write them: plain pointers, no collector. */

#include <stdint.h>
#include <stdlib.h>

struct node {
    uint64_t header[2];
    struct node *next;
    struct node *other;
    struct node *rest[2];
};

/* Follows `next` N times. */
struct node *farheap_walk(struct node *node, uint64_t times) {
    do {
        node = node->next;
    } while (--times && node);
    return node;
}

/* The same, storing into each node. */
struct node *farheap_walk_and_store(struct node *node, uint64_t times, struct node *value) {
    do {
        node->other = value;
        node = node->next;
    } while (--times && node);
    return node;
}

/* Takes nodes off a buffer, which is zero. */
struct node *farheap_bump(char **top, char *end, uint64_t times, uint64_t header) {
    struct node *node;
    do {
        if ((uint64_t)(end - *top) < sizeof(struct node)) {
            return NULL;
        }
        node = (struct node *)*top;
        *top += sizeof(struct node);
        *(volatile uint64_t *)node->header = header;
    } while (--times);
    return node;
}
