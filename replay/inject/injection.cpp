// libtidemark-record.so: what the CUDA driver loads into a process when it is initialized, and the
// one function that it calls there; on request NVTX loads it too, and calls another one. Nothing
// here may stop the program: failures are reported, and the program runs on without a recording.
#include <cstdlib>
#include <string>

#include <pthread.h>
#include <unistd.h>

#include "core/base/printable.h"
#include "replay/inject/call_recorder.h"
#include "replay/inject/kept_errno.h"
#include "replay/inject/nvtx_ranges.h"

namespace tidemark::inject {
namespace {

// Calls may be reported until the very end of the process: none of these is ever destroyed.
struct Injection {
    explicit Injection(const std::string& reports) : report(reports) {}

    const ReportFile report;
    std::optional<Cupti> cupti;
    std::optional<CallRecorder> recorder;
};

std::atomic<Injection*> the_injection = nullptr;

std::string variable(const char* name) {
    const char* const text = std::getenv(name);
    return text == nullptr ? "" : text;
}

[[gnu::hot]] void on_callback(void* /*user*/, int domain, std::uint32_t id,
                              const void* data) noexcept {
    Injection* const injection = the_injection.load(std::memory_order_acquire);
    if (injection == nullptr)
        return;
    try {
        if (domain == kDriverDomain)
            injection->recorder->on_driver_call(id, *static_cast<const CUpti_CallbackData*>(data));
        else if (domain == kResourceDomain)
            injection->recorder->on_resource(id,
                                             static_cast<const CUpti_ResourceData*>(data)->context);
    } catch (...) {
        const KeptErrno error;
        the_injection.store(nullptr);  // no memory: what would be recorded now had gaps
        injection->report.write("problem", "the process ran out of memory while it was recorded");
    }
}

// For ranges: null before CUDA is initialized, and where nothing is recorded.
MemoryEvents* events() {
    Injection* const injection = the_injection.load(std::memory_order_acquire);
    return injection == nullptr ? nullptr : &injection->recorder->events();
}

// A child made by fork() has neither the recorder's thread nor a driver that works.
void leave_to_parent() {
    the_injection.store(nullptr);
}

// While CUPTI still works: what has run by now gets its times. Later launches have none.
void finish_times() {
    if (Injection* const injection = the_injection.load())
        injection->recorder->times().finish();
}

void time_launches(Injection& injection) {
    if (const Result<void> timed = injection.recorder->times().start(*injection.cupti); timed)
        std::atexit(finish_times);
    else
        injection.report.write("untimed", to_text(timed.error()));
}

Result<void> attach(Injection& injection) {
    TM_ASSIGN(injection.cupti, Cupti::open(DriverQueries().version()));
    const std::string limit = variable(kHistoryVariable);
    injection.recorder.emplace(
        *injection.cupti,
        RecordOptions{.output = variable(kOutputVariable),
                      .overwrite = !variable(kOverwriteVariable).empty(),
                      .name = variable(kNameVariable),
                      .history_limit = std::strtoull(limit.c_str(), nullptr, 10),
                      .stacks = !variable(kStacksVariable).empty(),
                      .uses = !variable(kKernelsVariable).empty()},
        injection.report);
    injection.report.write("cupti", injection.cupti->path());
    ::pthread_atfork(nullptr, nullptr, leave_to_parent);
    the_injection.store(&injection, std::memory_order_release);
    const bool launches = !variable(kKernelsVariable).empty();
    const Result<void> subscribed = injection.cupti->subscribe(on_callback, launches);
    if (!subscribed) {
        the_injection.store(nullptr);
        injection.cupti->unsubscribe();
    } else if (launches && variable(kNoTimesVariable).empty()) {
        time_launches(injection);
    }
    return subscribed;
}

void start() {
    const std::string parent = variable(kChildOfVariable);
    if (!parent.empty() && parent != std::to_string(::getppid()))
        return;
    static Injection& injection =
        *new Injection(variable(kReportsVariable));  // found by leak checks
    const Result<void> attached = attach(injection);
    if (attached)
        return;
    const std::string why = to_text(attached.error());
    injection.report.write("problem", why);
    if (!variable(kReportsVariable).empty())
        return;
    const std::string line = "tidemark record: not recorded: " + printable(why) + "\n";
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

// After everything that the program registered for its end: what it frees there is still recorded.
[[gnu::destructor]] void finish() {
    Injection* const injection = the_injection.exchange(nullptr);
    if (injection != nullptr)
        injection->recorder->events().close();
}

}  // namespace
}  // namespace tidemark::inject

// Called by the driver within cuInit; it does not look at the answer of one that it does not know.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    const tidemark::inject::KeptErrno error;
    try {
        tidemark::inject::start();
    } catch (...) {
        // No memory: the program has more urgent needs.
    }
    return 1;
}

// Called by NVTX, once for each part of the program that has it.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    tidemark::inject::nvtx::GetExportTable tables) {
    return tidemark::inject::follow_nvtx(tables, tidemark::inject::events) ? 1 : 0;
}
