/* A program that records without end, as scripts/prove_endurance.py needs it: ever new tags, stacks,
 * pools, steps and marks over blocks that come and go.
 *
 * Usage: recorder_load RECORDING LIMIT EVENTS RATE THREADS PROGRESS
 *
 * EVENTS by each of THREADS threads, so that 64 of them run at a time; RATE events a second of a
 * thread, 0 for no pause; into the file PROGRESS, "" for none, goes how many have been recorded. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tidemark.h"

enum { BLOCKS = 4096, NAMED = 1000, PACED = 1000, AT_ONCE = 64 };

static tm_recorder* recorder;
static uint64_t events;
static double rate;
static volatile uint64_t* progress;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pause_until(double when) {
    const double rest = when - seconds_now();
    if (rest > 0) {
        const struct timespec wait = {(time_t)rest, (long)((rest - (double)(time_t)rest) * 1e9)};
        nanosleep(&wait, NULL);
    }
}

/* What a step that nobody has seen before brings with it. */
static void rename_all(tm_event* event, uint64_t step) {
    char text[64];
    snprintf(text, sizeof text, "tag %" PRIu64, step);
    event->tag = tm_recorder_string(recorder, text);
    const tm_recorded_frame frames[] = {
        {"allocate", "model.py", (uint32_t)step}, {text, "model.py", 12}, {"main", "train.py", 9}};
    event->stack = tm_recorder_stack(recorder, frames, 3);
    event->stream = (step % 100) << 8;
    event->pool = (uint32_t)(step % 50);
    snprintf(text, sizeof text, "step %" PRIu64, step);
    tm_recorder_range(recorder, text, 0);
    tm_recorder_mark(recorder, text);
    tm_recorder_range(recorder, text, 1);
}

static void* run(void* argument) {
    const uint64_t first = (uint64_t)(uintptr_t)argument << 40;
    const double start = seconds_now();
    TM_INIT(tm_event, event);
    for (uint64_t i = 0; i < events; ++i) {
        if (i % NAMED == 0)
            rename_all(&event, (first >> 20) + i / NAMED);
        const uint64_t turn = i / BLOCKS;
        event.kind = turn % 2 == 0 ? TM_EVENT_ALLOCATE : TM_EVENT_FREE;
        event.address = first + (i % BLOCKS + 1) * 512;
        event.size = event.extra = 512;
        tm_recorder_event(recorder, &event);
        if (progress != NULL)
            *progress = i + 1;
        if (rate > 0 && i % PACED == 0)
            pause_until(start + (double)i / rate);
    }
    return NULL;
}

static int run_threads(uintptr_t count) {
    for (uintptr_t begun = 0; begun < count;) {
        pthread_t threads[AT_ONCE];
        int running = 0;
        while (running < AT_ONCE && begun < count) {
            if (pthread_create(&threads[running++], NULL, run, (void*)++begun) != 0)
                return 1;
        }
        while (running > 0)
            pthread_join(threads[--running], NULL);
    }
    return 0;
}

int main(int count, char** arguments) {
    if (count != 7)
        return 2;
    TM_INIT(tm_recorder_options, options);
    options.name = "load";
    options.path = arguments[1];
    options.history_limit = strtoull(arguments[2], NULL, 10);
    events = strtoull(arguments[3], NULL, 10);
    rate = strtod(arguments[4], NULL);
    if (arguments[6][0] != '\0') {
        const int file = open(arguments[6], O_RDWR);
        progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (tm_recorder_open(&options, &recorder) != TM_OK) {
        fputs("recorder_load: the recorder cannot be opened\n", stderr);
        return 1;
    }
    const double start = seconds_now();
    const uintptr_t threads = strtoull(arguments[5], NULL, 10);
    if (run_threads(threads) != 0)
        return 1;
    const double seconds = seconds_now() - start;
    TM_INIT(tm_recorder_counts, counts);
    tm_recorder_count(recorder, &counts);
    const int closed = tm_recorder_close(recorder) == TM_OK;
    printf("{\"events\": %" PRIu64 ", \"seconds\": %.3f, \"published\": %" PRIu64
           ", \"dropped\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"closed\": %s}\n",
           events * threads, seconds, counts.published, counts.dropped, counts.lost,
           closed ? "true" : "false");
    return 0;
}
