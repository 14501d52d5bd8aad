// Probes in, events out, every few milliseconds.
#include "replay/cli/record_attached.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "replay/attach/probe_ring.h"
#include "replay/attach/probed_memory.h"
#include "replay/attach/torch_probes.h"
#include "replay/cli/recorded_processes.h"
#include "traces/live/publisher.h"
#include "traces/model/trace.h"

namespace tidemark::commands {
namespace {

namespace fs = std::filesystem;

// The signals that ask us to end, as something that can be waited for.
class EndSignals {
  public:
    EndSignals() {
        sigset_t signals;
        ::sigemptyset(&signals);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP})
            ::sigaddset(&signals, signal);
        ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
        file_ = FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    }

    EndSignals(const EndSignals&) = delete;
    EndSignals& operator=(const EndSignals&) = delete;

    // What has come is taken: it has been obeyed.
    ~EndSignals() {
        signalfd_siginfo taken;
        while (::read(file_.get(), &taken, sizeof taken) > 0) {
        }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

    int file() const { return file_.get(); }

  private:
    sigset_t before_{};
    FileDescriptor file_;
};

// The GPUs that the process may have. They are called by their numbers alone: which card has number
// 0 is for the process's environment to say.
std::vector<live::LiveDevice> possible_gpus() {
    std::error_code error;
    const fs::directory_iterator gpus("/proc/driver/nvidia/gpus", error);
    const auto count = error ? live::kMostDevices
                             : static_cast<std::size_t>(std::distance(begin(gpus), end(gpus)));
    std::vector<live::LiveDevice> devices(std::clamp<std::size_t>(count, 1, live::kMostDevices));
    for (std::size_t i = 0; i < devices.size(); ++i)
        devices[i].name = fmt::format("cuda:{}", i);
    return devices;
}

std::string name_of(int process) {
    std::error_code error;
    const fs::path program = fs::read_symlink(fmt::format("/proc/{}/exe", process), error);
    return error ? fmt::format("process {}", process) : program.filename().string();
}

// What a reader of the recording has to know.
void put_settings(live::Publisher& publisher, int process) {
    const auto put = [&](std::string_view key, std::string_view value, bool of_allocator) {
        static_cast<void>(publisher.setting(key, value, of_allocator));
    };
    put("allocator", "torch", false);
    put(kRecorderKey, kProbes, false);
    put("process", fmt::format("{}", process), false);
    for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
        if (const std::string value = attach::variable_of(process, name); !value.empty())
            put("PYTORCH_CUDA_ALLOC_CONF", value, true);
    }
    publisher.mark(fmt::format("attached to process {}: what was live before is unknown", process));
}

struct Attachment {
    attach::TorchProbes probes;
    std::optional<attach::ProbeRing> ring;  // none: over
    std::unique_ptr<live::Publisher> publisher;
    attach::ProbedMemory memory;
    std::uint64_t lost = 0;  // of the ring, and told

    void take() {
        ring->drain([this](const attach::Hit& hit) {
            probes.is_malloc(hit.probe) ? memory.on_malloc(hit) : memory.on_free(hit);
        });
        const std::uint64_t now = ring->lost();
        if (now != lost)
            publisher->put({.kind = live::RecordKind::lost, .size = now - lost});
        lost = now;
    }

    // Returns whether the process has ended; else a signal has come.
    bool follow(const FileDescriptor& process, const EndSignals& signals) {
        constexpr int kMillisecondsBetween = 2;
        std::array<pollfd, 2> waits{{{process.get(), POLLIN, 0}, {signals.file(), POLLIN, 0}}};
        while (::poll(waits.data(), waits.size(), kMillisecondsBetween) <= 0)
            take();
        take();
        ring.reset();
        return waits[0].revents != 0;
    }
};

}  // namespace

Result<ExitCode> record_attached(Context& context, const AttachOptions& options) {
    const EndSignals signals;
    const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, options.process, 0)));
    const int no_process = errno;
    TM_ASSIGN(attach::TorchProbes probes, attach::find_torch_probes(options.process));
    if (!process.valid())
        return io_error("its end cannot be waited for", fmt::format("process {}", options.process),
                        no_process);
    live::PublishOptions publish{
        .name = options.name.empty() ? name_of(options.process) : options.name,
        .recording = options.output,
        .overwrite = options.overwrite,
        .history_limit = options.history_limit,
        .devices = possible_gpus(),
        .given_times = true};
    publish.rings = 1;
    TM_ASSIGN(attach::ProbeRing ring,
              attach::ProbeRing::open(options.process, probes.file, probes.probes));
    TM_ASSIGN(std::unique_ptr<live::Publisher> publisher, live::Publisher::start(publish));
    put_settings(*publisher, options.process);
    context.front().note(
        fmt::format("attached to process {}; Ctrl-C ends the recording{}", options.process,
                    options.live ? ". Follow it: tidemark view --attach " + publish.name : ""));
    live::Publisher& target = *publisher;
    Attachment attachment{.probes = std::move(probes),
                          .ring = std::move(ring),
                          .publisher = std::move(publisher),
                          .memory = attach::ProbedMemory(target, publish.devices.size())};
    const bool ended = attachment.follow(process, signals);
    const Result<void> closed = target.close();
    const live::PublisherCounts counts = target.counts();
    ProgramRecord run{.program = publish.name};
    run.processes.push_back(
        look_at_recorded(context.front(), {.process = static_cast<std::uint32_t>(options.process),
                                           .problem = closed ? "" : to_text(closed.error()),
                                           .recording = target.recording(),
                                           .cupti = {}}));
    run.processes.back().running = !ended;
    run.attached = AttachedCounts{.unknown_frees = attachment.memory.counts().unknown_frees,
                                  .missed_frees = attachment.memory.counts().missed_frees,
                                  .unknown_devices = attachment.memory.counts().unknown_devices,
                                  .lost = attachment.lost + counts.dropped + counts.lost};
    if (options.json) {
        context.print(record_json(run, context.provenance()));
        return ExitCode::yes;
    }
    for (const std::string& line : record_lines(run))
        context.front().note(line);
    return ExitCode::yes;
}

}  // namespace tidemark::commands
