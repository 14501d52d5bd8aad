// Files without names, and transfers that are timed.
#include "backends/machines/measure_disk.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "core/tiers/disk/disk_chunks.h"
#include "core/tiers/disk/disk_transfer.h"

namespace tidemark {
namespace {

using TransferKind = BlockTransfer::Kind;

constexpr Bytes kSmallRequest = 4_KiB;
constexpr Bytes kChunksLeast = 16;  // of a file
// part of the free space for a file; there are two at a time
constexpr Bytes kShareOfRoom = 8;
constexpr unsigned kTransfersOfRun = 5;  // a run is about as long as writing a file this many times
constexpr unsigned kSmallSingles = 16;
constexpr unsigned kChunkSingles = 5;

// A file without a name, closed at its end.
struct ScratchFile {
    ScratchFile(BlockFiles& owner, OpenFile file) : files(owner), open(file) {}

    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    ~ScratchFile() { (void)files.close(open.id); }

    bool direct() const { return open.memory_alignment > 1; }

    BlockFiles& files;
    OpenFile open;
};

// A file that is moved in whole chunks.
struct MeasuredStream {
    TransferKind kind = TransferKind::read;
    const ScratchFile* file = nullptr;
    Bytes size = 0;
    Bytes begun = 0;
    Bytes done = 0;
};

struct StreamsMoved {
    Nanoseconds duration = 0;
    Bytes bytes = 0;
};

class DiskMeasurement {
  public:
    DiskMeasurement(BlockFiles& files, const DiskQuestion& question)
        : files_(files),
          question_(question),
          transfers_(files.make_queue(2 * question.in_flight)) {}

    Result<DiskFigures> run();

  private:
    Error error_of(int number) const {
        const bool full = number == ENOSPC || number == EDQUOT;
        return {full ? ErrorCode::no_space : ErrorCode::io,
                number == WholeTransfers::kEndOfFile ? "a file ends too early"
                                                     : to_text(FileError{number}),
                question_.directory, full ? "free some space, or choose another directory" : ""};
    }

    template <class T>
    Result<T> checked(const FileResult<T>& result) const {
        if (!result)
            return tl::make_unexpected(error_of(result.error().number));
        if constexpr (std::is_void_v<T>)
            return {};
        else
            return *result;
    }

    Nanoseconds now() const { return question_.now ? question_.now() : watch_.elapsed(); }

    Result<void> choose_size();
    Result<std::unique_ptr<ScratchFile>> make_file(Bytes size);
    void start(MeasuredStream& stream, unsigned slot);
    Result<StreamsMoved> move(std::span<MeasuredStream> streams);
    Result<double> move_alone(TransferKind kind, const ScratchFile& file, Bytes size);
    Result<double> single(TransferKind kind, const ScratchFile& file, Bytes size);
    Result<double> singles(TransferKind kind, const ScratchFile& file, Bytes size, unsigned count);
    Result<void> sample(TransferKind kind, const ScratchFile& file);
    Result<bool> forget(const ScratchFile& file);
    Result<void> run_once();

    struct Samples {
        std::vector<double> bytes_per_second;
        std::vector<double> latency;
        std::vector<double> small;

        DiskDirection figures() const {
            return {figure_of(bytes_per_second), figure_of(latency), figure_of(small)};
        }
    };

    BlockFiles& files_;
    const DiskQuestion& question_;
    Stopwatch watch_;
    WholeTransfers transfers_;
    AlignedMemory memory_;  // a chunk for each slot
    std::vector<MemoryPiece> pieces_;
    Random random_{1};
    Bytes size_ = 0;
    DiskFigures figures_;
    std::array<Samples, 2> samples_;  // by TransferKind
    std::vector<double> both_;
};

Result<std::unique_ptr<ScratchFile>> DiskMeasurement::make_file(Bytes size) {
    TM_ASSIGN(const OpenFile open, checked(files_.create_scratch(question_.directory)));
    auto file = std::make_unique<ScratchFile>(files_, open);
    TM_TRY(checked(files_.allocate(open.id, 0, size)));
    return file;
}

void DiskMeasurement::start(MeasuredStream& stream, unsigned slot) {
    const Bytes chunk = question_.chunk;
    pieces_[slot] = {memory_.data() + slot * chunk, chunk};
    transfers_.start(
        slot,
        {stream.kind, stream.file->open.id, stream.begun, std::span(pieces_).subspan(slot, 1), 0},
        stream.file->open.memory_alignment);
    stream.begun += chunk;
}

// Moves all streams to their ends, with as many transfers in flight for each. The result is the
// state when the first stream ended; transfers in flight then count half.
Result<StreamsMoved> DiskMeasurement::move(std::span<MeasuredStream> streams) {
    const Nanoseconds begin = now();
    for (unsigned i = 0; i < streams.size() * question_.in_flight; ++i) {
        MeasuredStream& stream = streams[i / question_.in_flight];
        if (stream.begun < stream.size)
            start(stream, i);
    }
    std::optional<StreamsMoved> moved;
    int error = 0;
    bool stopped = false;
    while (transfers_.in_flight() > 0) {
        const WholeTransfers::End end = transfers_.wait();
        MeasuredStream& stream = streams[end.slot / question_.in_flight];
        stream.done += question_.chunk;
        error = error == 0 ? end.error : error;
        stopped = stopped || !question_.limits.go_on();
        if (!moved && stream.done == stream.size) {
            moved = StreamsMoved{now() - begin, 0};
            for (const MeasuredStream& each : streams)
                moved->bytes += (each.done + each.begun) / 2;
        }
        if (error == 0 && !stopped && stream.begun < stream.size)
            start(stream, end.slot);
    }
    if (error != 0)
        return tl::make_unexpected(error_of(error));
    if (stopped)
        return fail(ErrorCode::cancelled, "interrupted");
    return *moved;
}

// Bytes per second of one direction; written bytes are on the disk.
Result<double> DiskMeasurement::move_alone(TransferKind kind, const ScratchFile& file, Bytes size) {
    const Nanoseconds begin = now();
    MeasuredStream stream{.kind = kind, .file = &file, .size = size};
    TM_TRY(move(std::span(&stream, 1)));
    if (kind == TransferKind::write)
        TM_TRY(checked(files_.sync(file.open.id)));
    return static_cast<double>(size) * 1e9 /
           static_cast<double>(std::max<Nanoseconds>(now() - begin, 1));
}

// How long one request takes, somewhere in the file.
Result<double> DiskMeasurement::single(TransferKind kind, const ScratchFile& file, Bytes size) {
    const Bytes offset = random_.below(size_ / size) * size;
    pieces_[0] = {memory_.data(), size};
    const Nanoseconds begin = now();
    transfers_.start(0, {kind, file.open.id, offset, std::span(pieces_).first(1), 0},
                     file.open.memory_alignment);
    const WholeTransfers::End end = transfers_.wait();
    if (end.error != 0)
        return tl::make_unexpected(error_of(end.error));
    if (kind == TransferKind::write && !file.direct())
        TM_TRY(checked(files_.sync(file.open.id)));
    return static_cast<double>(now() - begin);
}

Result<double> DiskMeasurement::singles(TransferKind kind, const ScratchFile& file, Bytes size,
                                        unsigned count) {
    std::vector<double> times;
    for (unsigned i = 0; i < count; ++i) {
        TM_TRY(question_.limits.go_on());
        TM_ASSIGN(const double time, single(kind, file, size));
        times.push_back(time);
    }
    return figure_of(std::move(times)).median;
}

Result<void> DiskMeasurement::sample(TransferKind kind, const ScratchFile& file) {
    Samples& samples = samples_[static_cast<std::size_t>(kind)];
    TM_ASSIGN(const double bandwidth, move_alone(kind, file, size_));
    if (kind == TransferKind::read) {
        TM_TRY(forget(file));
    }
    TM_ASSIGN(const double small, singles(kind, file, kSmallRequest, kSmallSingles));
    TM_ASSIGN(const double chunk, singles(kind, file, question_.chunk, kChunkSingles));
    samples.bytes_per_second.push_back(bandwidth);
    samples.small.push_back(small);
    const auto beyond = [&](double time, Bytes size) {
        return time - static_cast<double>(size) * 1e9 / bandwidth;
    };
    samples.latency.push_back(
        std::max({beyond(chunk, question_.chunk), beyond(small, kSmallRequest), 0.0}));
    return {};
}

// Whether reads of the file come from the disk from here on.
Result<bool> DiskMeasurement::forget(const ScratchFile& file) {
    if (file.direct())
        return true;
    TM_TRY(checked(files_.sync(file.open.id)));
    const FileResult<void> forgotten = files_.forget(file.open.id);
    if (!forgotten)
        figures_.obstacle = "it has no direct transfers, and the page cache keeps files: " +
                            to_text(forgotten.error());
    return forgotten.has_value();
}

Result<void> DiskMeasurement::run_once() {
    TM_ASSIGN(const auto file, make_file(size_));
    TM_TRY(sample(TransferKind::write, *file));
    TM_ASSIGN(const bool readable, forget(*file));
    if (!readable)
        return {};
    TM_TRY(sample(TransferKind::read, *file));
    if (!file->direct())
        return {};
    TM_ASSIGN(const auto other, make_file(size_));
    std::array<MeasuredStream, 2> streams{
        MeasuredStream{.kind = TransferKind::read, .file = file.get(), .size = size_},
        MeasuredStream{.kind = TransferKind::write, .file = other.get(), .size = size_}};
    TM_ASSIGN(const StreamsMoved moved, move(streams));
    both_.push_back(static_cast<double>(moved.bytes) * 1e9 /
                    static_cast<double>(std::max<Nanoseconds>(moved.duration, 1)));
    return {};
}

// As much as the disk writes in a part of a run's time, and as there is space for.
Result<void> DiskMeasurement::choose_size() {
    const Bytes chunk = question_.chunk;
    const Bytes least = kChunksLeast * chunk;
    TM_ASSIGN(figures_.free, checked(files_.free_space(question_.directory)));
    const Bytes most = std::min(question_.largest, figures_.free / kShareOfRoom) / chunk * chunk;
    if (most < least)
        return fail(ErrorCode::no_space,
                    fmt::format("{} are free; measuring needs {}", format_bytes(figures_.free),
                                format_bytes(least * kShareOfRoom)),
                    question_.directory, "free some space, or choose another directory");
    TM_ASSIGN(const auto file, make_file(least));
    figures_.direct = file->direct();
    TM_ASSIGN(const double bandwidth, move_alone(TransferKind::write, *file, least));
    const double slice = static_cast<double>(question_.limits.budget) / 1e9 /
                         (kTransfersOfRun * question_.limits.runs);
    const double wanted = std::min(bandwidth * slice, static_cast<double>(most));
    size_ = std::max(static_cast<Bytes>(wanted) / chunk * chunk, least);
    figures_.size = size_;
    return {};
}

Result<DiskFigures> DiskMeasurement::run() {
    const unsigned slots = transfers_.depth();
    if (!memory_.grow(slots * question_.chunk))
        return fail(ErrorCode::no_space, "no memory for its chunks", question_.directory);
    pieces_.resize(slots);
    for (Bytes at = 0; at < slots * question_.chunk; at += sizeof(std::uint64_t)) {
        const std::uint64_t noise = random_.next();  // nothing that a disk could compress away
        std::memcpy(memory_.data() + at, &noise, sizeof noise);
    }
    const Nanoseconds begin = now();
    TM_TRY(choose_size());
    for (unsigned i = 0; i < question_.limits.runs; ++i) {
        if (i > 0 && now() - begin > question_.limits.budget)
            break;
        TM_TRY(run_once());
        question_.limits.show(i + 1);
    }
    figures_.write = samples_[static_cast<std::size_t>(TransferKind::write)].figures();
    figures_.read = samples_[static_cast<std::size_t>(TransferKind::read)].figures();
    figures_.both = figure_of(both_);
    return std::move(figures_);
}

}  // namespace

Result<DiskFigures> measure_disk(BlockFiles& files, const DiskQuestion& question) {
    return DiskMeasurement(files, question).run();
}

}  // namespace tidemark
