/* libtidemark.so from C: memory from a policy, a trace as columns, and the answers of the program
 * `tidemark`. It needs no C++ and, on a simulated device, no GPU. */
#include <stdio.h>
#include <string.h>

#include <tidemark/tidemark.h>

/* Prints the last error. */
static int failed(const char* where) {
    TM_INIT(tm_error, error);
    tm_last_error(&error);
    fprintf(stderr, "%s: %s: %s\n", where, error.where, error.what);
    return 1;
}

/* A simulated H200 with 1 GiB under best fit. */
static int allocate(void) {
    TM_INIT(tm_context_options, options);
    options.machine = "sim:h200";
    options.policy = "best-fit";
    options.memory = (uint64_t)1 << 30;
    tm_context* context = NULL;
    if (tm_context_open(&options, &context) != TM_OK)
        return failed("tm_context_open");
    printf("%s under %s\n", tm_context_device_name(context), tm_context_policy(context));

    TM_INIT(tm_request, request);
    request.bytes = 100 << 20;
    uint64_t address = 0;
    uint64_t granted = 0;
    if (tm_alloc(context, &request, &address, &granted) != TM_OK)
        return failed("tm_alloc");
    TM_INIT(tm_statistics, statistics);
    if (tm_statistics_of(context, &statistics) != TM_OK)
        return failed("tm_statistics_of");
    printf("%llu bytes allocated, %llu reserved from the device\n", (unsigned long long)granted,
           (unsigned long long)statistics.reserved);

    /* Running out of memory is an ordinary result. */
    TM_INIT(tm_request, large);
    large.bytes = (uint64_t)2 << 30;
    uint64_t none = 0;
    if (tm_alloc(context, &large, &none, NULL) != TM_OUT_OF_MEMORY)
        return failed("2 GiB of 1 GiB");

    if (tm_free(context, address, request.bytes, request.stream) != TM_OK)
        return failed("tm_free");
    uint64_t leaked = 0;
    if (tm_context_close(context, &leaked) != TM_OK || leaked != 0)
        return failed("tm_context_close");
    return 0;
}

/* The largest request of a trace; any file that `tidemark` reads has columns like these. */
static int look_at_a_trace(void) {
    tm_trace* trace = NULL;
    if (tm_trace_open("generate:training:events=5000", NULL, &trace) != TM_OK)
        return failed("tm_trace_open");
    TM_INIT(tm_columns, columns);
    if (tm_trace_columns(trace, &columns) != TM_OK)
        return failed("tm_trace_columns");
    uint64_t largest = 0;
    for (uint64_t i = 0; i < columns.count; ++i)
        if (strcmp(tm_event_kind(columns.kind[i]), "allocate") == 0 && columns.size[i] > largest)
            largest = columns.size[i];
    printf("%llu events, the largest request has %llu bytes\n", (unsigned long long)columns.count,
           (unsigned long long)largest);
    tm_trace_close(trace);
    return largest == 0;
}

static int show(void* user, const char* label, uint64_t done, uint64_t total) {
    (void)user;
    if (total != 0)
        printf("%s: %llu of %llu\n", label, (unsigned long long)done, (unsigned long long)total);
    return 0; /* go on */
}

/* Which policy needs the least memory? */
static int ask(void) {
    const char* question[] = {"compare", "generate:training:events=5000", "-p", "torch",
                              "-p",      "best-fit"};
    TM_INIT(tm_run_options, options);
    options.progress = show;
    tm_answer* answer = NULL;
    if (tm_run(question, sizeof(question) / sizeof(question[0]), &options, &answer) != TM_OK)
        return failed("tm_run");
    printf("%s", tm_answer_output(answer, NULL));
    const int code = tm_answer_exit_code(answer);
    tm_answer_free(answer);
    return code;
}

int main(void) {
    printf("tidemark %s\n", tm_version());
    if (tm_abi_version() != TM_ABI_VERSION)
        return failed("the library has another version than this was compiled for");
    return allocate() || look_at_a_trace() || ask();
}
