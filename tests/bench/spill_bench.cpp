// The spill engine against plain copies: how much of a link's bandwidth is left when buffers are
// spilled and fetched in chunks through the store, by victims, locks and accounts.
//
// Usage: spill_bench [--device cuda:0|sim:PROFILE] [--total BYTES] [--buffer BYTES]...
//                    [--chunk BYTES] [--block BYTES] [--in-flight N] [--rounds N]
//                    [--disk DIRECTORY] [--disk-total BYTES] [--json]
//
// In each round plain pinned copies (1 GiB, one call) and the engine take turns: spill, fetch, and
// both directions at once. On a disk: direct transfers with as many in flight as the store has,
// against buffers that leave the host and come back. A figure is the median of the rounds; a ratio,
// the median of each round's ratio. Content is written before and compared after every move; exit
// code 1 if a byte differs. On the simulator time is the profile's.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/disk/disk_files.h"
#include "backends/sim/profile_text.h"
#include "backends/sim/sim_device.h"
#include "backends/tiers/device_transfers.h"
#include "core/allocator/spec.h"
#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "core/tiers/store/tiered_store.h"
#include "tests/support/real_host_device.h"

namespace tidemark {
namespace {

constexpr SpaceId kGpu{Tier::gpu, 0};
constexpr SpaceId kHost{Tier::host, 0};
constexpr SpaceId kDisk{Tier::disk, 0};

struct Settings {
    std::string device = "cuda:0";
    Bytes total = 2_GiB;  // moved in each direction
    std::vector<Bytes> buffers;
    Bytes chunk = 32_MiB;
    Bytes block = 2_MiB;
    unsigned in_flight = 4;
    unsigned rounds = 5;
    std::string disk;
    Bytes disk_total = 2_GiB;
    bool json = false;
};

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "spill_bench: %s\n", why.c_str());
    std::exit(2);
}

template <class T>
T must(Result<T> result) {
    if (!result)
        stop(to_text(result.error()));
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

template <class T>
T must(DeviceResult<T> result) {
    if (!result)
        stop(to_text(to_error(result.error())));
    if constexpr (!std::is_void_v<T>)
        return *result;
}

// The device, and what it needs.
struct Hardware {
    std::unique_ptr<CostProfile> profile;
    std::unique_ptr<SimDevice> sim;
    std::unique_ptr<support::RealHostDevice> real;
    std::unique_ptr<CudaDevice> cuda;
    Device* device = nullptr;
};

Hardware open_device(const Settings& settings) {
    Hardware hardware;
    if (settings.device.starts_with("sim:")) {
        hardware.profile =
            std::make_unique<CostProfile>(must(load_profile(settings.device.substr(4))));
        SimConfig config;
        config.profile = hardware.profile.get();
        config.backed = true;
        hardware.sim = std::make_unique<SimDevice>(config);
        hardware.real = std::make_unique<support::RealHostDevice>(*hardware.sim);
        hardware.device = hardware.real.get();
        return hardware;
    }
    CudaConfig config;
    config.ordinal = std::atoi(settings.device.substr(settings.device.find(':') + 1).c_str());
    hardware.cuda = must(CudaDevice::open(must(CudaDriver::open()), config));
    hardware.device = hardware.cuda.get();
    return hardware;
}

MachineSpec machine_of(const Settings& settings) {
    MachineSpec machine;
    machine.name = "bench";
    const Bytes room = 2 * std::max(settings.total, settings.disk_total);
    for (const SpaceId id : {kGpu, kHost, kDisk}) {
        SpaceSpec space;
        space.id = id;
        space.capacity = room;
        space.granularity = id == kHost ? settings.block : Bytes{512};
        machine.spaces.push_back(space);
    }
    for (const SpaceId from : {kGpu, kHost, kDisk})
        for (const SpaceId to : {kGpu, kHost, kDisk})
            if (from != to)
                machine.links.push_back(
                    {from, to, from == kDisk || to == kDisk ? 2e9 : 50e9, 0, 0, ""});
    return machine;
}

// A store on that hardware, with its host memory pinned before anything is measured.
struct Rig {
    Rig(const Settings& settings, Device& gpu, BlockFiles* files)
        : machine(machine_of(settings)), pinned(gpu) {
        for (const SpaceSpec& spec : machine.spaces)
            spaces.push_back(std::make_unique<MemorySpace>(spec));
        const Bytes host = std::max(settings.total, files ? settings.disk_total : 0) + 64_MiB;
        const std::uint32_t per_pool =
            static_cast<std::uint32_t>(std::max<Bytes>(1, 128_MiB / settings.block));
        HostBlocksSpec blocks_spec;
        blocks_spec.block = settings.block;
        blocks_spec.blocks_per_pool = per_pool;
        blocks_spec.initial_pools = static_cast<std::uint32_t>(host / 128_MiB + 1);
        blocks_spec.capacity = host;
        blocks = must(HostBlocks::create(pinned, blocks_spec));
        blocks_spec.initial_pools = 2;
        blocks_spec.capacity = 256_MiB;
        staging = must(HostBlocks::create(pinned, blocks_spec));
        allocator = must(must(parse_policy("best-fit")).make(gpu));
        if (files) {
            DiskStoreOptions options;
            options.directories = {settings.disk};
            disk = must(DiskStore::open(*files, options));
        }
        DeviceTransfersConfig config;
        config.gpus = {{.space = kGpu, .device = &gpu, .allocator = allocator.get()}};
        config.hosts = {{kHost, blocks.get()}};
        if (disk)
            config.disks = {{kDisk, disk.get()}};
        config.staging = staging.get();
        config.chunk = settings.chunk;
        config.in_flight = settings.in_flight;
        transfers = std::make_unique<DeviceTransfers>(config);
        std::vector<MemorySpace*> views;
        for (const auto& space : spaces)
            views.push_back(space.get());
        StoreOptions options;
        options.spill.victims = must(parse_victim_policy("lru"));
        store = std::make_unique<TieredStore>(machine, views, *transfers, options);
    }

    MachineSpec machine;
    std::vector<std::unique_ptr<MemorySpace>> spaces;
    DevicePinnedSource pinned;
    std::unique_ptr<HostBlocks> blocks;
    std::unique_ptr<HostBlocks> staging;
    std::unique_ptr<Allocator> allocator;
    std::unique_ptr<DiskStore> disk;
    std::unique_ptr<DeviceTransfers> transfers;
    std::unique_ptr<TieredStore> store;
};

// Figures.

struct Rounds {
    std::string what;
    Bytes buffer = 0;
    std::vector<double> plain;  // bytes a second
    std::vector<double> engine;

    static double median(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    }

    void print(const Settings& settings, std::string_view device) const {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < plain.size(); ++i)
            ratios.push_back(engine[i] / plain[i]);
        const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
        if (settings.json)
            std::printf(
                "{\"what\": \"%s\", \"device\": \"%s\", \"buffer\": %llu, \"chunk\": %llu, "
                "\"block\": %llu, \"rounds\": %zu, \"plain_bytes_per_second\": %.0f, "
                "\"engine_bytes_per_second\": %.0f, \"ratio\": %.3f, "
                "\"ratio_least\": %.3f, \"ratio_most\": %.3f}\n",
                what.c_str(), std::string(device).c_str(), static_cast<unsigned long long>(buffer),
                static_cast<unsigned long long>(settings.chunk),
                static_cast<unsigned long long>(settings.block), ratios.size(), median(plain),
                median(engine), median(ratios), *least, *most);
        else
            std::printf("%-14s %9s  %8.2f GB/s %8.2f GB/s   %.3f (%.3f to %.3f)\n", what.c_str(),
                        format_bytes(buffer).c_str(), median(plain) / 1e9, median(engine) / 1e9,
                        median(ratios), *least, *most);
        std::fflush(stdout);
    }
};

double rate(Bytes bytes, Nanoseconds time) {
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(time);
}

std::uint64_t wrong_bytes = 0;

// Plain copies.

struct PlainMemory {
    Bytes size = 0;
    Address gpu[2] = {};
    Address host[2] = {};
};

struct PlainRates {
    double out = 0;
    double in = 0;
    double both = 0;  // the sum of both directions
};

PlainMemory plain_memory(Device& device, Bytes size) {
    PlainMemory memory;
    memory.size = size;
    for (int i = 0; i < 2; ++i) {
        memory.gpu[i] = must(device.malloc(size));
        memory.host[i] = must(device.host_malloc(size));
        must(device.copy(memory.gpu[i], memory.host[i], size, StreamId{1}));
    }
    must(device.synchronize_device());
    return memory;
}

PlainRates copy_plainly(Device& device, const PlainMemory& m) {
    const StreamId one{1};
    const StreamId two{2};
    PlainRates rates;
    Nanoseconds begin = device.now();
    must(device.copy(m.host[0], m.gpu[0], m.size, one));
    must(device.synchronize(one));
    rates.out = rate(m.size, device.now() - begin);
    begin = device.now();
    must(device.copy(m.gpu[1], m.host[1], m.size, two));
    must(device.synchronize(two));
    rates.in = rate(m.size, device.now() - begin);
    begin = device.now();
    must(device.copy(m.host[0], m.gpu[0], m.size, one));
    must(device.copy(m.gpu[1], m.host[1], m.size, two));
    must(device.synchronize(one));
    must(device.synchronize(two));
    rates.both = rate(2 * m.size, device.now() - begin);
    return rates;
}

// Buffers.

using Buffers = std::vector<BufferRef>;

std::uint32_t pattern_of(std::size_t i, unsigned round) {
    return static_cast<std::uint32_t>(i * 2654435761U + round * 40503U + 12345U);
}

Buffers make_buffers(TieredStore& store, Bytes count, Bytes size, SpaceId where) {
    Buffers buffers;
    for (Bytes i = 0; i < count; ++i)
        buffers.push_back(must(store.wait(store.create({.size = size, .space = where}))));
    return buffers;
}

// Writes every buffer on the GPU, where all of them fit.
void write_all(TieredStore& store, Device& device, const Buffers& buffers, unsigned round) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const Access access = must(
            store.wait(store.acquire(buffers[i], {.space = kGpu, .mode = AccessMode::overwrite})));
        must(device.write_pattern(access.address(), pattern_of(i, round), access.location().size,
                                  StreamId::default_stream));
    }
    must(device.synchronize_device());
    store.drain();
}

void check_all(TieredStore& store, Device& device, const Buffers& buffers, unsigned round) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const Access access =
            must(store.wait(store.acquire(buffers[i], {.space = kGpu, .mode = AccessMode::read})));
        wrong_bytes += must(device.check_pattern(access.address(), pattern_of(i, round),
                                                 access.location().size, StreamId::default_stream));
    }
}

void spill(TieredStore& store, Bytes bytes) {
    const FreeReport report = store.wait(store.free_bytes(kGpu, bytes));
    if (report.freed < bytes)
        stop(report.text());
}

std::vector<Pending<Result<Access>>> ask_for(TieredStore& store, const Buffers& buffers,
                                             SpaceId where) {
    std::vector<Pending<Result<Access>>> pending;
    for (const BufferRef buffer : buffers)
        pending.push_back(store.acquire(buffer, {.space = where, .mode = AccessMode::read}));
    return pending;
}

void wait_for(TieredStore& store, std::vector<Pending<Result<Access>>> pending) {
    for (auto& access : pending)
        must(store.wait(std::move(access))).release();
}

void measure_size(const Settings& settings, Device& device, Rig& rig, const PlainMemory& plain,
                  Bytes size) {
    TieredStore& store = *rig.store;
    const Bytes count = settings.total / size;
    const Buffers buffers = make_buffers(store, count, size, kGpu);
    const Buffers leaving(buffers.begin(),
                          buffers.begin() + static_cast<std::ptrdiff_t>(count / 2));
    const Buffers coming(buffers.begin() + static_cast<std::ptrdiff_t>(count / 2), buffers.end());
    Rounds out{"gpu to host", size, {}, {}};
    Rounds in{"host to gpu", size, {}, {}};
    Rounds both{"both at once", size, {}, {}};
    for (unsigned round = 0; round < settings.rounds; ++round) {
        const PlainRates rates = copy_plainly(device, plain);
        write_all(store, device, buffers, round);
        Nanoseconds begin = device.now();
        spill(store, count * size);
        out.engine.push_back(rate(count * size, device.now() - begin));
        begin = device.now();
        wait_for(store, ask_for(store, buffers, kGpu));
        in.engine.push_back(rate(count * size, device.now() - begin));
        check_all(store, device, buffers, round);
        out.plain.push_back(rates.out);
        in.plain.push_back(rates.in);
        if (leaving.empty())
            continue;
        // Half of them comes while the other half, written again, leaves.
        write_all(store, device, buffers, round + 1);
        wait_for(store, ask_for(store, leaving, kGpu));  // so the others are the oldest
        spill(store, coming.size() * size);
        begin = device.now();
        auto pending = ask_for(store, coming, kGpu);
        auto freeing = store.free_bytes(kGpu, leaving.size() * size);
        wait_for(store, std::move(pending));
        if (store.wait(freeing).freed < leaving.size() * size)
            stop("the other half did not leave");
        both.engine.push_back(rate(count * size, device.now() - begin));
        both.plain.push_back(rates.both);
        check_all(store, device, buffers, round + 1);
    }
    out.print(settings, device.name());
    in.print(settings, device.name());
    if (!both.plain.empty())
        both.print(settings, device.name());
    for (const BufferRef buffer : buffers)
        must(store.destroy(buffer));
    store.drain();
}

// The disk. Its time is the wall's.

double move_plainly(BlockQueue& queue, BlockTransfer::Kind kind, FileId file,
                    std::span<std::byte> memory, Bytes total) {
    const Bytes block = memory.size() / queue.depth();
    const Stopwatch watch;
    std::vector<MemoryPiece> pieces(queue.depth());
    std::vector<unsigned> free;
    for (unsigned slot = 0; slot < queue.depth(); ++slot)
        free.push_back(slot);
    std::vector<BlockCompletion> done(queue.depth());
    for (Bytes at = 0; at < total || free.size() < queue.depth();) {
        for (; at < total && !free.empty(); at += block, free.pop_back()) {
            const unsigned slot = free.back();
            pieces[slot] = {memory.data() + slot * block, block};
            const BlockTransfer transfer{kind, file, at, std::span(pieces).subspan(slot, 1), slot};
            queue.submit(std::span(&transfer, 1));
        }
        const std::size_t count = queue.wait(done);
        for (std::size_t i = 0; i < count; ++i) {
            if (done[i].moved != block)
                stop("a plain transfer failed: " + to_text(FileError{done[i].error}));
            free.push_back(static_cast<unsigned>(done[i].tag));
        }
    }
    return rate(total, watch.elapsed());
}

struct DiskRates {
    double write = 0;
    double read = 0;
};

DiskRates disk_plainly(BlockFiles& files, Device& device, const Settings& settings) {
    constexpr unsigned kDepth = 8;
    constexpr Bytes kBlock = 4_MiB;
    const auto file = files.create_scratch(settings.disk);
    if (!file)
        stop(settings.disk + ": " + to_text(file.error()));
    if (file->memory_alignment == 1)
        std::fprintf(stderr, "%s has no direct transfers: this is the page cache\n",
                     settings.disk.c_str());
    const Address memory = must(device.host_malloc(kDepth * kBlock));
    const std::span<std::byte> bytes(pointer_of(memory), kDepth * kBlock);
    for (Bytes at = 0; at < bytes.size(); at += sizeof at)  // no zeros that a disk might leave out
        std::memcpy(bytes.data() + at, &at, sizeof at);
    const auto queue = files.make_queue(kDepth);
    DiskRates rates;
    rates.write =
        move_plainly(*queue, BlockTransfer::Kind::write, file->id, bytes, settings.disk_total);
    rates.read =
        move_plainly(*queue, BlockTransfer::Kind::read, file->id, bytes, settings.disk_total);
    (void)files.close(file->id);
    must(device.host_free(memory));
    return rates;
}

void measure_disk(const Settings& settings, Device& device, Rig& rig, BlockFiles& files) {
    const Bytes size = 256_MiB;
    const Bytes count = settings.disk_total / size;
    TieredStore& store = *rig.store;
    const Buffers buffers = make_buffers(store, count, size, kHost);
    const auto touch = [&](std::size_t i, unsigned round, AccessMode mode) {
        const Access access =
            must(store.wait(store.acquire(buffers[i], {.space = kHost, .mode = mode})));
        std::uint64_t word = pattern_of(i, round);
        for (const Range& piece : access.pieces()) {
            for (Bytes at = 0; at < piece.size; at += sizeof word, word = word * 5 + 1) {
                std::byte* there = pointer_of(piece.begin) + at;
                if (mode == AccessMode::overwrite)
                    std::memcpy(there, &word, sizeof word);
                else if (std::memcmp(there, &word, sizeof word) != 0)
                    wrong_bytes += sizeof word;
            }
        }
    };
    Rounds out{"host to disk", size, {}, {}};
    Rounds in{"disk to host", size, {}, {}};
    for (unsigned round = 0; round < settings.rounds; ++round) {
        const DiskRates rates = disk_plainly(files, device, settings);
        for (std::size_t i = 0; i < buffers.size(); ++i)
            touch(i, round, AccessMode::overwrite);
        store.drain();
        const Stopwatch writing;
        const FreeReport report = store.wait(store.free_bytes(kHost, count * size));
        out.engine.push_back(rate(count * size, writing.elapsed()));
        if (report.freed < count * size)
            stop(report.text());
        const Stopwatch reading;
        wait_for(store, ask_for(store, buffers, kHost));
        in.engine.push_back(rate(count * size, reading.elapsed()));
        for (std::size_t i = 0; i < buffers.size(); ++i)
            touch(i, round, AccessMode::read);
        out.plain.push_back(rates.write);
        in.plain.push_back(rates.read);
    }
    out.print(settings, files.name());
    in.print(settings, files.name());
}

Settings read_arguments(int count, char** arguments) {
    Settings settings;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        if (word == "--json") {
            settings.json = true;
            continue;
        }
        if (++i == count)
            stop(word + " needs a value");
        const std::string value = arguments[i];
        if (word == "--device")
            settings.device = value;
        else if (word == "--total")
            settings.total = must(parse_bytes(value));
        else if (word == "--buffer")
            settings.buffers.push_back(must(parse_bytes(value)));
        else if (word == "--chunk")
            settings.chunk = must(parse_bytes(value));
        else if (word == "--block")
            settings.block = must(parse_bytes(value));
        else if (word == "--in-flight")
            settings.in_flight = static_cast<unsigned>(must(parse_count(value)));
        else if (word == "--rounds")
            settings.rounds = static_cast<unsigned>(must(parse_count(value)));
        else if (word == "--disk")
            settings.disk = value;
        else if (word == "--disk-total")
            settings.disk_total = must(parse_bytes(value));
        else
            stop("unknown option " + word);
    }
    if (settings.buffers.empty())
        settings.buffers = {16_MiB, 64_MiB, 256_MiB, 1_GiB};
    for (const Bytes buffer : settings.buffers)
        if (buffer == 0 || buffer % 4 != 0 || settings.total % buffer != 0)
            stop("the total must be a multiple of each buffer");
    if (settings.rounds == 0 || settings.chunk == 0)
        stop("give a round, and a chunk");
    return settings;
}

int run(int count, char** arguments) {
    const Settings settings = read_arguments(count, arguments);
    const Hardware hardware = open_device(settings);
    Device& device = *hardware.device;
    DiskFiles disk;
    if (!settings.disk.empty())
        disk = must(open_disk_files());
    Rig rig(settings, device, disk.files.get());
    if (!settings.json)
        std::printf("%s\n%-14s %9s  %13s %13s   %s\n", std::string(device.name()).c_str(), "",
                    "buffer", "plain", "engine", "ratio");
    const PlainMemory plain = plain_memory(device, std::min(settings.total, 1_GiB));
    for (const Bytes size : settings.buffers)
        measure_size(settings, device, rig, plain, size);
    if (disk.files)
        measure_disk(settings, device, rig, *disk.files);
    rig.store->close();
    if (wrong_bytes != 0)
        stop(std::to_string(wrong_bytes) + " bytes differ");
    return 0;
}

}  // namespace
}  // namespace tidemark

int main(int count, char** arguments) {
    return tidemark::run(count, arguments);
}
