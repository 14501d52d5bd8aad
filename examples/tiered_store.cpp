// Buffers that don't fit: tasks with 128 MiB of buffers in 64 MiB of host memory, and the rest in
// files in a directory. It needs no GPU; if there is one, its memory is another space.
//
// Usage: tiered_store [DIRECTORY]      (default: a new one in the folder of temporary files)
//
// Each task reserves everything that it needs at a time, so that no two tasks block each other. It
// acquires its buffers together, and releases them, so that they may be evicted for others. At the
// end, every byte is read again.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/backends/disk/disk_files.h>
#include <tidemark/backends/tiers/device_transfers.h>
#include <tidemark/core/base/text.h>
#include <tidemark/core/tiers/store/tiered_store.h>

using namespace tidemark;

namespace {

constexpr SpaceId kHost{Tier::host, 0};
constexpr SpaceId kDisk{Tier::disk, 0};
constexpr Bytes kMemory = 64_MiB;
constexpr Bytes kBuffer = 8_MiB;
constexpr int kTasks = 4;
constexpr int kBuffersOfATask = 4;

// Two spaces and the links between them. The links' speeds are guesses; they decide what to move.
MachineSpec two_tiers(const std::string& directory) {
    SpaceSpec host;
    host.id = kHost;
    host.capacity = kMemory;
    host.granularity = host.block;
    SpaceSpec disk;
    disk.id = kDisk;
    disk.capacity = 1_GiB;
    disk.directories = {directory};
    return {"two tiers",
            {host, disk},
            {{kHost, kDisk, 1e9, 0, 20'000, {}}, {kDisk, kHost, 2e9, 0, 80'000, {}}},
            {}};
}

void fill(const Access& access, std::byte value) {
    for (const Range& piece : access.pieces())
        std::fill_n(pointer_of(piece.begin), piece.size, value);
}

bool holds(const Access& access, std::byte value) {
    for (const Range& piece : access.pieces())
        for (Bytes at = 0; at < piece.size; ++at)
            if (pointer_of(piece.begin)[at] != value)
                return false;
    return true;
}

// Creates its buffers, writes all of them at once, and releases them.
Result<std::vector<BufferRef>> work(TieredStore& store, int task) {
    ReservationSpec wanted;
    wanted.spaces = {kHost};
    wanted.size = kBuffersOfATask * kBuffer;
    wanted.patient = true;
    TM_ASSIGN(const MemoryReservation reservation, store.reserve(wanted).take());

    std::vector<BufferRef> buffers;
    std::vector<BufferUse> uses;
    for (int i = 0; i < kBuffersOfATask; ++i) {
        BufferSpec spec;
        spec.size = kBuffer;
        spec.space = kHost;
        spec.reservation = reservation.id();
        TM_ASSIGN(const BufferRef buffer, store.create(spec).take());
        buffers.push_back(buffer);
        uses.push_back({buffer, AccessMode::overwrite, 0});
    }
    AccessSpec together;
    together.space = kHost;
    together.patient = true;
    TM_ASSIGN(const std::vector<Access> accesses, store.acquire_all(uses, together).take());
    for (std::size_t i = 0; i < accesses.size(); ++i)
        fill(accesses[i], std::byte(16 * task + static_cast<int>(i) + 1));
    return buffers;
}

// Reads the buffers again, wherever they are.
Result<bool> check(TieredStore& store, const std::vector<BufferRef>& buffers, int task) {
    bool right = true;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        AccessSpec spec;
        spec.space = kHost;
        spec.patient = true;
        TM_ASSIGN(const Access access, store.acquire(buffers[i], spec).take());
        right = right && holds(access, std::byte(16 * task + static_cast<int>(i) + 1));
    }
    return right;
}

// Returns false after it printed an error.
bool run(TieredStore& store) {
    std::atomic<int> wrong = 0;
    std::vector<std::vector<BufferRef>> made(kTasks);
    const auto in_threads = [&](auto&& part) {
        std::vector<std::thread> threads;
        for (int task = 0; task < kTasks; ++task)
            threads.emplace_back([&, task] {
                const Result<bool> outcome = part(task);
                if (!outcome)
                    std::fprintf(stderr, "task %d: %s\n", task,
                                 to_text(outcome.error()).c_str());
                wrong += outcome && *outcome ? 0 : 1;
            });
        for (std::thread& thread : threads)
            thread.join();
    };
    in_threads([&](int task) -> Result<bool> {
        TM_ASSIGN(made[static_cast<std::size_t>(task)], work(store, task));
        return true;
    });
    in_threads(
        [&](int task) { return check(store, made[static_cast<std::size_t>(task)], task); });
    return wrong == 0;
}

Result<bool> example(const std::string& directory) {
    const MachineSpec machine = two_tiers(directory);
    TM_TRY(machine.validate());
    PlainSource memory;
    HostBlocksSpec blocks_spec;
    blocks_spec.capacity = kMemory;
    TM_ASSIGN(const std::unique_ptr<HostBlocks> blocks, HostBlocks::create(memory, blocks_spec));
    TM_ASSIGN(const DiskFiles files, open_disk_files());
    DiskStoreOptions disk_options;
    disk_options.directories = {directory};
    TM_ASSIGN(const std::unique_ptr<DiskStore> disk, DiskStore::open(*files.files, disk_options));
    DeviceTransfersConfig config;
    config.hosts = {{kHost, blocks.get()}};
    config.disks = {{kDisk, disk.get()}};
    DeviceTransfers transfers(config);

    MemorySpace host_space(machine.spaces[0]);
    MemorySpace disk_space(machine.spaces[1]);
    MemorySpace* const spaces[] = {&host_space, &disk_space};
    TieredStore store(machine, spaces, transfers, {});
    if (const Result<void> started = store.start_worker(); !started)
        std::printf("%s: calls do the copying\n", to_text(started.error()).c_str());
    const bool right = run(store);
    const SpillCounters counters = store.counters(kHost);
    store.close();
    std::printf("%s of buffers in %s of memory: %s written to disk, %s read back; %s\n",
                format_bytes(kTasks * kBuffersOfATask * kBuffer).c_str(),
                format_bytes(kMemory).c_str(), format_bytes(counters.copied_out).c_str(),
                format_bytes(counters.copied_in).c_str(),
                right ? "every byte is right" : "WRONG");
    return right && counters.copied_out > 0;
}

}  // namespace

int main(int count, char** words) {
    namespace fs = std::filesystem;
    const bool own = count < 2;
    std::string name = (fs::temp_directory_path() / "tidemark-example-XXXXXX").string();
    const std::string directory = own ? std::string(mkdtemp(name.data()) ? name : "") : words[1];
    const Result<bool> outcome = example(directory);
    if (own)
        fs::remove_all(directory);
    if (!outcome)
        std::fprintf(stderr, "%s\n", to_text(outcome.error()).c_str());
    return outcome && *outcome ? 0 : 1;
}
