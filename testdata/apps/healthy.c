/* A program that is busy and never stalls: `healthy [SECONDS]`. The recorder must write no dump. */
#include "loop.h"

enum { TICK_MS = 20, WORK_MS = 8 };

static int64_t end_ms;
static volatile uint64_t sink;

OWN_FRAME static void draw_frame(void) {
    int64_t until = now_ms() + WORK_MS;
    while (now_ms() < until) {
        for (int i = 0; i < 10000; i++) {
            sink = sink * 6364136223846793005u + 1;
        }
    }
}

OWN_FRAME static void on_tick(struct loop *loop, uint64_t ticks) {
    (void)ticks;
    draw_frame();
    loop->stopped = now_ms() >= end_ms;
}

static void on_event(struct loop *loop) {
    (void)loop;
}

int main(int argc, char **argv) {
    long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 5;
    struct loop loop = {.on_tick = on_tick, .on_event = on_event};
    end_ms = now_ms() + seconds * 1000;
    loop_open(&loop, TICK_MS);
    loop_post(&loop);
    loop_run(&loop, NULL, NULL);
    return 0;
}
