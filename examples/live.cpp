// live_example: a program to watch while it runs (docs/guide/live.md). It doesn't train anything:
// steps of tagged allocations go through a policy on the simulator, as fast as --rate says, and are
// published for `tidemark-view --attach live_example`. It needs no GPU.
//
//   live_example [--policy P] [--rate EVENTS/S] [--seconds S] [--threads N] [--name NAME]
//                [--recording FILE] [--history BYTES] [--crash]
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <tidemark/backends/sim/sim_device.h>
#include <tidemark/backends/wrap/observed_device.h>
#include <tidemark/core/allocator/observed_allocator.h>
#include <tidemark/core/allocator/spec.h>
#include <tidemark/core/base/text.h>
#include <tidemark/traces/live/publisher.h>

namespace tidemark {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    std::string policy = "torch";
    std::string name = "live_example";
    std::string recording;
    Bytes history = 0;
    double rate = 100'000;
    double seconds = 60;
    unsigned threads = 2;
    bool crash = false;
};

// The policy behind a lock, because threads share it.
struct Memory {
    std::mutex lock;
    Allocator& allocator;
    std::atomic<std::uint64_t> calls = 0;

    explicit Memory(Allocator& shared) : allocator(shared) {}

    Allocation take(Bytes size, StreamId stream) {
        const std::lock_guard guard(lock);
        ++calls;
        return allocator.allocate({.size = size, .stream = stream}).value_or(Allocation{});
    }

    void give(const Allocation& allocation, StreamId stream) {
        if (allocation.size == 0)
            return;  // the request failed
        const std::lock_guard guard(lock);
        ++calls;
        allocator.deallocate(allocation, stream);
    }
};

// Limits a thread's average number of calls per second.
class Pace {
  public:
    Pace(double rate, Clock::time_point begin) : rate_(rate), begin_(begin) {}

    void made(std::uint64_t calls) {
        calls_ += calls;
        if (rate_ > 0)
            std::this_thread::sleep_until(
                begin_ + std::chrono::nanoseconds(
                             static_cast<std::int64_t>(static_cast<double>(calls_) / rate_ * 1e9)));
    }

  private:
    double rate_;
    Clock::time_point begin_;
    std::uint64_t calls_ = 0;
};

constexpr int kLayers = 24;

// Forward: every layer leaves activations and needs scratch memory; backward: gradients, in the
// reverse order.
std::uint64_t do_step(Memory& memory, std::mt19937_64& random, StreamId stream) {
    std::vector<Allocation> activations;
    for (int layer = 0; layer < kLayers; ++layer) {
        {
            const LiveScope scope("activations");
            activations.push_back(memory.take((8 + random() % 8) * 1_MiB, stream));
        }
        const LiveScope scope("scratch");
        for (int i = 0; i < 4; ++i)
            memory.give(memory.take((1 + random() % 512) * 1_KiB, stream), stream);
    }
    for (int layer = kLayers; layer-- > 0;) {
        const LiveScope scope("gradients");
        const Allocation gradient = memory.take((4 + random() % 4) * 1_MiB, stream);
        memory.give(activations[static_cast<std::size_t>(layer)], stream);
        memory.give(gradient, stream);
    }
    return kLayers * (1 + 8) + kLayers * 3;
}

void train(Memory& memory, const Settings& settings, unsigned thread, Clock::time_point begin) {
    const StreamId stream{thread};
    std::mt19937_64 random(thread + 1);
    Pace pace(settings.rate / settings.threads, begin);
    std::vector<Allocation> weights;
    {
        const std::vector<live::LiveFrame> stack = {{"Linear::Linear", "layers.cpp", 31},
                                                    {"Model::build", "model.cpp", 112},
                                                    {"main", "train.cpp", 9}};
        const LiveScope scope("weights", stack);
        for (int layer = 0; layer < kLayers; ++layer)
            weights.push_back(memory.take(32_MiB, stream));
    }
    const auto end = begin + std::chrono::duration<double>(settings.seconds);
    for (int step = 0; Clock::now() < end; ++step) {
        const LiveRange range(fmt::format("step {}", step % 1000));
        pace.made(do_step(memory, random, stream));
        if (settings.crash && Clock::now() > begin + (end - begin) / 2)
            ::kill(::getpid(), SIGKILL);
    }
    for (const Allocation& weight : weights)
        memory.give(weight, stream);
}

Result<Settings> read_settings(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--crash") {
            settings.crash = true;
            continue;
        }
        if (i + 1 == argc)
            return fail(ErrorCode::bad_option, "needs a value", word);
        const std::string value = argv[++i];
        if (word == "--policy")
            settings.policy = value;
        else if (word == "--name")
            settings.name = value;
        else if (word == "--recording")
            settings.recording = value;
        else if (word == "--history") {
            TM_ASSIGN(settings.history, parse_bytes(value));
        } else if (word == "--rate") {
            TM_ASSIGN(settings.rate, parse_real(value));
        } else if (word == "--seconds") {
            TM_ASSIGN(settings.seconds, parse_real(value));
        } else if (word == "--threads") {
            TM_ASSIGN(const std::uint64_t threads, parse_count(value));
            settings.threads = static_cast<unsigned>(std::max<std::uint64_t>(threads, 1));
        } else
            return fail(ErrorCode::bad_option, "there is no such option", word,
                        "see docs/guide/live.md");
    }
    return settings;
}

Result<void> run(int argc, char** argv) {
    TM_ASSIGN(const Settings settings, read_settings(argc, argv));
    TM_ASSIGN(const PolicySpec policy, parse_policy(settings.policy));
    SimDevice device({.capacity = 40_GiB});
    live::PublishOptions options;
    options.name = settings.name;
    options.recording = settings.recording;
    options.history_limit = settings.history;
    options.devices = {{std::string(device.name()), device.memory().total}};
    TM_ASSIGN(const auto publisher, live::Publisher::start(options));
    std::printf("process %d publishes as '%s'; recording %s\n", ::getpid(), settings.name.c_str(),
                publisher->recording().c_str());
    std::fflush(stdout);
    ObservedDevice observed(device, publisher->observer());
    TM_ASSIGN(const auto allocator, policy.make(observed));
    ObservedAllocator told(*allocator, publisher->observer());
    Memory memory(told);
    const Clock::time_point begin = Clock::now();
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < settings.threads; ++thread)
        threads.emplace_back([&, thread] { train(memory, settings, thread, begin); });
    for (std::thread& thread : threads)
        thread.join();
    publisher->mark("done");
    const live::PublisherCounts counts = publisher->counts();
    std::printf("%llu calls, %llu records published, %llu dropped\n",
                static_cast<unsigned long long>(memory.calls.load()),
                static_cast<unsigned long long>(counts.published),
                static_cast<unsigned long long>(counts.dropped));
    return publisher->close();
}

}  // namespace
}  // namespace tidemark

int main(int argc, char** argv) {
    const auto done = tidemark::run(argc, argv);
    if (!done)
        std::fprintf(stderr, "live_example: %s\n", to_text(done.error()).c_str());
    return done ? 0 : 1;
}
