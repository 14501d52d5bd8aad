// Two maps, a program and an event for each probe, and the ring as the kernel shows it.
#include "replay/attach/probe_ring.h"

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tidemark::attach {
namespace {

// 300,000 hits: a third of a second of a program that does nothing else.
constexpr std::uint32_t kRingBytes = 1U << 24U;
constexpr std::size_t kPage = 4096;
constexpr const char* kDevice = "/sys/bus/event_source/devices/uprobe/";

int call_bpf(bpf_cmd command, bpf_attr& attributes) {
    return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

std::uint64_t address_of(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

tl::unexpected<Error> refusal(std::string_view what, int code) {
    if (code == EPERM || code == EACCES)
        return fail(ErrorCode::unsupported, fmt::format("{} is not permitted", what), "--attach",
                    "it needs root, or the capabilities CAP_BPF and CAP_PERFMON; in a container "
                    "also a seccomp profile that permits bpf and perf_event_open. Without them, "
                    "use python -m tidemark.record, which records from inside the process");
    return fail(ErrorCode::unsupported,
                fmt::format("the kernel refuses {}: {}", what, std::strerror(code)), "--attach",
                "it needs Linux 5.8 or newer, with CONFIG_UPROBE_EVENTS and CONFIG_BPF_EVENTS; "
                "python -m tidemark.record needs neither");
}

Result<FileDescriptor> make_map(bpf_map_type type, std::uint32_t key, std::uint32_t value,
                                std::uint32_t entries) {
    bpf_attr attributes{};
    attributes.map_type = type;
    attributes.key_size = key;
    attributes.value_size = value;
    attributes.max_entries = entries;
    FileDescriptor map(call_bpf(BPF_MAP_CREATE, attributes));
    if (!map.valid())
        return refusal("a ring of events", errno);
    return map;
}

Result<FileDescriptor> load(std::span<const bpf_insn> program) {
    bpf_attr attributes{};
    attributes.prog_type = BPF_PROG_TYPE_KPROBE;
    attributes.insn_cnt = static_cast<std::uint32_t>(program.size());
    attributes.insns = address_of(program.data());
    // Only programs whose license the kernel considers compatible may read a process's memory.
    attributes.license = address_of("Dual MIT/GPL");
    FileDescriptor loaded(call_bpf(BPF_PROG_LOAD, attributes));
    if (!loaded.valid())
        return refusal("a BPF program that reads probes", errno);
    return loaded;
}

// The number of the kernel's kind of events for probes, and where in the configuration of one its
// semaphore is.
struct ProbeEvents {
    std::uint32_t type = 0;
    unsigned semaphore_bit = 0;
};

Result<ProbeEvents> find_probe_events() {
    ProbeEvents found;
    std::ifstream type(fmt::format("{}type", kDevice));
    std::ifstream format(fmt::format("{}format/ref_ctr_offset", kDevice));
    std::string bits_at;  // "config:32-63"
    if (!(type >> found.type) || !(format >> bits_at) || !bits_at.starts_with("config:"))
        return fail(ErrorCode::unsupported, "this kernel has no probes of programs (uprobes)",
                    "--attach",
                    fmt::format("it needs Linux 5.8 or newer, with CONFIG_UPROBE_EVENTS, and {}: "
                                "python -m tidemark.record needs neither",
                                kDevice));
    const std::string_view bits = std::string_view(bits_at).substr(std::strlen("config:"));
    std::from_chars(bits.data(), bits.data() + bits.size(), found.semaphore_bit);
    found.semaphore_bit %= 64;
    return found;
}

std::uint64_t read_position(std::byte* at) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).load(std::memory_order_acquire);
}

}  // namespace

ProbeRing& ProbeRing::operator=(ProbeRing&& other) noexcept {
    std::swap(ring_, other.ring_);
    std::swap(lost_, other.lost_);
    std::swap(programs_, other.programs_);
    std::swap(events_, other.events_);
    std::swap(consumer_, other.consumer_);
    std::swap(producer_, other.producer_);
    return *this;
}

ProbeRing::~ProbeRing() {
    events_.clear();
    if (consumer_ != nullptr)
        ::munmap(consumer_, kPage);
    if (producer_ != nullptr)
        ::munmap(producer_, kPage + 2 * std::size_t{kRingBytes});
}

Result<ProbeRing> ProbeRing::open(int process, const std::string& path,
                                  std::span<const Probe> probes) {
    ProbeRing ring;
    TM_TRY(ring.make_maps());
    for (std::uint32_t number = 0; number < probes.size(); ++number)
        TM_TRY(ring.listen(process, path, probes[number], number));
    return ring;
}

Result<void> ProbeRing::check() {
#ifdef __x86_64__
    ProbeRing ring;
    TM_TRY(find_probe_events());
    TM_TRY(ring.make_maps());
    TM_TRY(load(probe_program({}, 0, ring.ring_.get(), ring.lost_.get())));
    return {};
#else
    return fail(ErrorCode::unsupported, "probes can be read only on x86-64", "--attach",
                "python -m tidemark.record records from inside the process");
#endif
}

Result<void> ProbeRing::make_maps() {
    // Before Linux 5.11 maps counted as locked memory; a refusal here is one of the maps then.
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    static_cast<void>(::setrlimit(RLIMIT_MEMLOCK, &all));
    TM_ASSIGN(ring_, make_map(BPF_MAP_TYPE_RINGBUF, 0, 0, kRingBytes));
    TM_ASSIGN(lost_, make_map(BPF_MAP_TYPE_ARRAY, sizeof(std::uint32_t), sizeof(std::uint64_t), 1));
    // The hits are there twice in a row, so that none is cut by the ring's end.
    void* const ours = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, ring_.get(), 0);
    void* const theirs = ::mmap(nullptr, kPage + 2 * std::size_t{kRingBytes}, PROT_READ, MAP_SHARED,
                                ring_.get(), kPage);
    consumer_ = ours == MAP_FAILED ? nullptr : static_cast<std::byte*>(ours);
    producer_ = theirs == MAP_FAILED ? nullptr : static_cast<std::byte*>(theirs);
    if (consumer_ == nullptr || producer_ == nullptr)
        return refusal("the memory of a ring of events", errno);
    return {};
}

Result<void> ProbeRing::listen(int process, const std::string& path, const Probe& probe,
                               std::uint32_t number) {
    TM_ASSIGN(const std::vector<ProbeArgument> arguments, parse_probe_arguments(probe.arguments));
    if (arguments.size() > kMostArguments)
        return fail(ErrorCode::unsupported,
                    fmt::format("probe {} has {} arguments", probe.name, arguments.size()), path);
    TM_ASSIGN(FileDescriptor program,
              load(probe_program(arguments, number, ring_.get(), lost_.get())));
    TM_ASSIGN(const ProbeEvents kind, find_probe_events());
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = kind.type;
    attributes.config = probe.semaphore << kind.semaphore_bit;
    attributes.config1 = address_of(path.c_str());
    attributes.config2 = probe.location;
    // One event is enough: the program runs in every thread of the process, whichever it is for.
    FileDescriptor event(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, process, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event.valid())
        return refusal("listening to a process's probes", errno);
    if (::ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program.get()) != 0 ||
        ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
        return refusal("attaching a BPF program to a process's probes", errno);
    programs_.push_back(std::move(program));
    events_.push_back(std::move(event));
    return {};
}

bool ProbeRing::next(Hit& hit) {
    std::uint64_t at = read_position(consumer_);
    while (at < read_position(producer_)) {
        std::byte* const entry = producer_ + kPage + (at & (kRingBytes - 1));
        const std::uint32_t head = std::atomic_ref(*reinterpret_cast<std::uint32_t*>(entry))
                                       .load(std::memory_order_acquire);
        if ((head & BPF_RINGBUF_BUSY_BIT) != 0)
            return false;
        const bool discarded = (head & BPF_RINGBUF_DISCARD_BIT) != 0;
        if (!discarded)
            std::memcpy(&hit, entry + BPF_RINGBUF_HDR_SZ, sizeof hit);
        const std::uint64_t size = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        at += (BPF_RINGBUF_HDR_SZ + size + 7) & ~std::uint64_t{7};
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(consumer_))
            .store(at, std::memory_order_release);
        if (!discarded)
            return true;
    }
    return false;
}

std::uint64_t ProbeRing::lost() const {
    const std::uint32_t key = 0;
    std::uint64_t count = 0;
    bpf_attr attributes{};
    attributes.map_fd = static_cast<std::uint32_t>(lost_.get());
    attributes.key = address_of(&key);
    attributes.value = address_of(&count);
    static_cast<void>(call_bpf(BPF_MAP_LOOKUP_ELEM, attributes));
    return count;
}

}  // namespace tidemark::attach
