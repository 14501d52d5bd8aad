// Whether a viewer keeps up with a busy program: a process publishes at a rate, another follows it
// as the viewer does, and both print what they published, read, lost and took of the processor.
//
//   live_attach_bench [--rate EVENTS/S] [--seconds S] [--threads N] [--json]
//
// Exit 1 if an event was lost, or the follower's history isn't what was published.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/text.h"
#include "tests/bench/live_program.h"
#include "traces/live/programs.h"
#include "traces/live/publisher.h"
#include "viz/live/follower.h"

namespace tidemark {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    double rate = 5e6;
    double seconds = 6;
    unsigned threads = 1;
    bool json = false;
};

double cpu_seconds(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// What the program says of itself; in memory that both processes see.
struct ProgramFigures {
    std::atomic<int> ready = 0;
    std::atomic<bool> go_on = false;
    std::uint64_t events = 0;
    std::uint64_t dropped = 0;
    double seconds = 0;      // of publishing
    double threads_cpu = 0;  // of the threads that publish
    double process_cpu = 0;  // of all, the recorder's thread included
    double own_ns = 0;       // of an event: what the threads do beside telling
};

// Hears all and does nothing.
class Nobody final : public MemoryObserver {
  public:
    void on_allocate(const Request&, const Allocation&) override {}

    void on_refused(const Request&, const OutOfMemory&) override {}

    void on_deallocate(const Allocation&, StreamId) override {}

    void on_record_use(const Allocation&, StreamId) override {}

    void on_segment(SegmentChange, Range, StreamId, Address) override {}
};

// One thread: as many events as the rate asks for, looked at each millisecond.
std::uint64_t publish(MemoryObserver& observer, unsigned thread, const Settings& settings) {
    bench::LiveProgram program(observer, thread);
    const double rate = settings.rate / settings.threads;
    const auto begin = Clock::now();
    std::uint64_t done = 0;
    for (auto now = begin; now - begin < std::chrono::duration<double>(settings.seconds);
         now = Clock::now()) {
        const double due = std::chrono::duration<double>(now - begin).count() * rate;
        while (static_cast<double>(done) < due) {
            program.work(bench::LiveProgram::kPerTag);
            done += bench::LiveProgram::kPerTag;
        }
        std::this_thread::sleep_until(now + std::chrono::milliseconds(1));
    }
    return done;
}

// What an event costs the program's threads without a publisher, at the same pace.
double own_cost(Settings settings) {
    settings.seconds = 1;
    settings.rate /= settings.threads;
    settings.threads = 1;
    Nobody nobody;
    const double begin = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    const std::uint64_t events = publish(nobody, 0, settings);
    return (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e9 / static_cast<double>(events);
}

void run_program(const Settings& settings, ProgramFigures& published) {
    published.own_ns = own_cost(settings);
    auto publisher = live::Publisher::start({.name = "bench"});
    if (!publisher) {
        std::fprintf(stderr, "%s\n", to_text(publisher.error()).c_str());
        published.ready = -1;
        return;
    }
    published.ready = 1;
    while (!published.go_on)
        ::usleep(1000);
    const double process = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const auto begin = Clock::now();
    std::vector<std::uint64_t> events(settings.threads);
    std::vector<double> seconds(settings.threads);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < settings.threads; ++thread)
        threads.emplace_back([&, thread] {
            events[thread] = publish((*publisher)->observer(), thread, settings);
            seconds[thread] = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
        });
    for (unsigned thread = 0; thread < settings.threads; ++thread) {
        threads[thread].join();
        published.events += events[thread];
        published.threads_cpu += seconds[thread];
    }
    published.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    published.process_cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - process;
    published.dropped = (*publisher)->counts().dropped;
    static_cast<void>((*publisher)->close());
}

struct FollowerFigures {
    std::uint64_t events = 0;
    std::uint64_t forgotten = 0;  // the recording's limit was reached before they were read
    double cpu = 0;
    double most_behind = 0;  // seconds of the program's events that weren't in the history
    bool ended = false;
};

// As the viewer does: a look at every frame.
FollowerFigures follow(const Settings& settings, ProgramFigures& published) {
    FollowerFigures seen;
    const auto follower = viz::Follower::start(live::find_program("bench").value());
    if (!follower) {
        std::fprintf(stderr, "%s\n", to_text(follower.error()).c_str());
        return seen;
    }
    const double begin = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    viz::ViewedRun run = (*follower)->new_run();
    published.go_on = true;
    while (!(*follower)->over()) {
        ::usleep(16'000);
        (*follower)->poll(run);
        const auto program = live::read_program((*follower)->program().path);
        if (program && run.live && run.live->alive) {
            const auto behind = static_cast<std::int64_t>(program->counters.sequence) -
                                static_cast<std::int64_t>(run.history->counts().events);
            seen.most_behind =
                std::max(seen.most_behind, static_cast<double>(behind) / settings.rate);
        }
    }
    (*follower)->poll(run);
    seen.cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
    seen.events = run.history->counts().events;
    const std::uint64_t missing = run.live ? run.live->dropped : 0;
    seen.forgotten = missing > published.dropped ? missing - published.dropped : 0;
    seen.ended = run.state.phase == viz::LoadState::Phase::ready;
    return seen;
}

void print(const Settings& settings, const ProgramFigures& published, const FollowerFigures& seen) {
    const auto events = static_cast<double>(published.events);
    const double recorder = published.process_cpu - published.threads_cpu;
    const auto followed = static_cast<double>(std::max<std::uint64_t>(seen.events, 1));
    const double recorded = events - static_cast<double>(published.dropped);
    if (settings.json) {
        std::puts(fmt::format("{{\"rate\": {:.0f}, \"threads\": {}, \"seconds\": {:.3f}, "
                              "\"told\": {}, \"followed\": {}, \"dropped\": {}, \"forgotten\": {}, "
                              "\"program_ns\": {:.1f}, \"program_own_ns\": {:.1f}, "
                              "\"recorder_ns\": {:.1f}, \"follower_ns\": {:.1f}, "
                              "\"most_behind_ms\": {:.1f}}}",
                              events / published.seconds, settings.threads, published.seconds,
                              published.events, seen.events, published.dropped, seen.forgotten,
                              published.threads_cpu / events * 1e9, published.own_ns,
                              recorder / recorded * 1e9, seen.cpu / followed * 1e9,
                              seen.most_behind * 1e3)
                      .c_str());
        return;
    }
    const auto row = [&](const char* who, double seconds, double of) {
        std::puts(fmt::format("{:<34}{:>7.1f} ns an event, {:>5.1f} % of a core", who,
                              seconds / of * 1e9, seconds / published.seconds * 100)
                      .c_str());
    };
    std::puts(fmt::format("{:.2f} M events/s for {:.1f} s by {} threads; {} cores, load {}",
                          events / published.seconds / 1e6, published.seconds, settings.threads,
                          std::thread::hardware_concurrency(),
                          [] {
                              double load = 0;
                              return ::getloadavg(&load, 1) == 1 ? fmt::format("{:.1f}", load)
                                                                 : std::string("?");
                          }())
                  .c_str());
    std::puts(fmt::format("told {}, followed {}; dropped {}, forgotten {}",
                          format_count(published.events), format_count(seen.events),
                          format_count(published.dropped), format_count(seen.forgotten))
                  .c_str());
    row("program's threads", published.threads_cpu, events);
    std::puts(
        fmt::format("  {:<32}{:>7.1f} ns", "of it without a publisher", published.own_ns).c_str());
    row("program's recorder", recorder, recorded);
    row("follower", seen.cpu, followed);
    std::puts(
        fmt::format("follower behind by at most{:>14.1f} ms", seen.most_behind * 1e3).c_str());
}

Result<Settings> read_settings(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--json") {
            settings.json = true;
            continue;
        }
        if (i + 1 == argc)
            return fail(ErrorCode::bad_option, "needs a value", word);
        const std::string value = argv[++i];
        if (word == "--rate") {
            TM_ASSIGN(settings.rate, parse_real(value));
        } else if (word == "--seconds") {
            TM_ASSIGN(settings.seconds, parse_real(value));
        } else if (word == "--threads") {
            TM_ASSIGN(const std::uint64_t threads, parse_count(value));
            settings.threads = static_cast<unsigned>(std::max<std::uint64_t>(threads, 1));
        } else {
            return fail(ErrorCode::bad_option, "there is no such option", word);
        }
    }
    return settings;
}

int measure(const Settings& settings) {
    void* const memory = ::mmap(nullptr, sizeof(ProgramFigures), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ProgramFigures& published = *new (memory) ProgramFigures;
    const auto folder =
        std::filesystem::temp_directory_path() / fmt::format("tidemark-live-bench-{}", ::getpid());
    ::setenv("TIDEMARK_RECORDINGS", folder.c_str(), 1);
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_program(settings, published);
        ::_exit(0);
    }
    while (published.ready == 0)
        ::usleep(1000);
    const FollowerFigures seen =
        published.ready > 0 ? follow(settings, published) : FollowerFigures{};
    ::waitpid(child, nullptr, 0);
    std::filesystem::remove_all(folder);
    print(settings, published, seen);
    return seen.ended && seen.events == published.events ? 0 : 1;
}

}  // namespace
}  // namespace tidemark

int main(int argc, char** argv) {
    const auto settings = tidemark::read_settings(argc, argv);
    if (!settings) {
        std::fprintf(stderr, "live_attach_bench: %s\n", to_text(settings.error()).c_str());
        return 2;
    }
    return tidemark::measure(*settings);
}
