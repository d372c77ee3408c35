/* The event loop of the programs that do odd things: turns of one poll, and work between them.
 * Included by one file per program. */
#ifndef DEMO_TURNS_H
#define DEMO_TURNS_H

#include <poll.h>
#include <unistd.h>

#include "app.h"

/* TURNS: number of turns at one place after which the recorder knows it as an event loop. */
enum { TURN_MS = 20, TURNS = 6 };

static volatile uint64_t sink;

/* The program's only wait for events. */
OWN_FRAME static void turns(int n) {
    int ends[2];
    if (pipe(ends) != 0) {
        die("pipe");
    }
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    for (int i = 0; i < n; i++) {
        poll(&fd, 1, TURN_MS);
    }
    close(ends[0]);
    close(ends[1]);
}

/* Computes for this time. */
OWN_FRAME static void compute(int64_t ms) {
    int64_t until = now_ms() + ms;
    while (now_ms() < until) {
        for (int i = 0; i < 10000; i++) {
            sink = sink * 6364136223846793005u + 1;
        }
    }
    KEEP_FRAME();
}

/* A loop, and a stall in it. */
OWN_FRAME __attribute__((unused)) static void stall(int64_t ms) {
    turns(TURNS);
    compute(ms);
    turns(TURNS);
}

#endif
