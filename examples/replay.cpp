// How much memory would a program have reserved under another allocator?
//
// Usage: replay [TRACE [POLICY]]     a PyTorch snapshot, an RMM log, a .tmk file, ...
#include <cstdio>

#include <tidemark/replay/scenario/scenario.h>
#include <tidemark/traces/open.h>

int main(int count, char** words) {
    const std::string path = count > 1 ? words[1] : "generate:training:steps=3";
    const auto trace = tidemark::open_trace(path);
    const auto run = trace.and_then([&](const auto& opened) {
        return tidemark::run(*opened, {.trace = path, .policy = count > 2 ? words[2] : "best-fit"});
    });
    if (!run) {
        std::fprintf(stderr, "%s\n", to_text(run.error()).c_str());
        return 1;
    }
    for (const char* name : {"peak_requested_bytes", "peak_reserved_bytes", "driver_ns"})
        std::printf("%-22s %14.0f\n", name, run->measurement(name).value());
    return 0;
}
