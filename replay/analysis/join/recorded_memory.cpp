// Records, in order, to ranges.
#include "replay/analysis/join/recorded_memory.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "traces/live/names.h"
#include "traces/live/recording_chain.h"
#include "traces/live/recording_file.h"

namespace tidemark {
namespace {

using live::Record;
using live::RecordKind;

// The fact of what a device's processes used at the end (python/tidemark/torch/_recording.py).
constexpr std::string_view kUsedBefore = "device ", kUsedAfter = " bytes used at the end";

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

constexpr std::uint64_t kLatest = std::uint64_t{1} << 61U;  // of times that can be

class Reader {
  public:
    Reader(RecordedMemory& memory, RecordedLevel level)
        : memory_(memory), level_(level), names_(memory.strings, stacks_) {}

    void take(const std::vector<Record>& records) {
        for (std::size_t at = 0; at < records.size();) {
            const auto length = 1 + static_cast<std::size_t>(live::payload_slots(records[at]));
            if (live::is_name(records[at].kind))
                names_.define(std::span(records).subspan(at, length));
            else
                apply(records[at]);
            at += length;
        }
    }

    void finish() {
        for (const live::NamedSetting& setting : names_.settings()) {
            std::string_view key = memory_.strings[setting.key];
            if (!key.starts_with(kUsedBefore) || !key.ends_with(kUsedAfter))
                continue;
            key.remove_prefix(kUsedBefore.size());
            key.remove_suffix(kUsedAfter.size());
            const auto device = number_in<std::uint8_t>(key);
            const auto used = number_in<Bytes>(memory_.strings[setting.value]);
            if (device && used && *device < memory_.header.devices)
                memory_.used[*device] = *used;
        }
    }

  private:
    void apply(const Record& record) {
        if (record.device >= memory_.header.devices)
            return;
        const Nanoseconds time =
            memory_.start + static_cast<Nanoseconds>(std::min(record.time, kLatest));
        memory_.last = std::max(memory_.last, time);
        if (memory_.first == 0 && !live::is_live(record.kind))
            memory_.first = time;
        const bool has_allocations = level_ == RecordedLevel::driver;
        switch (record.kind) {
            case RecordKind::allocate:
            case RecordKind::live_block:
                return has_allocations ? begin(record, time) : void();
            case RecordKind::segment_alloc:
            case RecordKind::live_segment:
            case RecordKind::map:
            case RecordKind::live_mapping:
                return begin(record, time);
            case RecordKind::free:
                return has_allocations ? end(record.address, 1, time) : void();
            case RecordKind::segment_free:
                return end(record.address, 1, time);
            case RecordKind::unmap:
                return end(record.address, record.size, time);
            case RecordKind::lost:
                memory_.lost += record.size;
                return;
            default:
                return;
        }
    }

    void begin(const Record& record, Nanoseconds time) {
        end(record.address, 1, time);  // its end was missed
        if (record.size == 0 || record.size >= kLargestRequest)
            return;
        const live::Named site = names_.site(record.site);
        const bool is_mapping =
            record.kind == RecordKind::map || record.kind == RecordKind::live_mapping;
        open_[record.address] = memory_.ranges.size();
        memory_.ranges.push_back({.address = record.address,
                                  .size = record.size,
                                  .home = is_mapping ? record.extra : 0,
                                  .begin = time,
                                  .tag = site.tag,
                                  .pool = site.pool,
                                  .device = record.device,
                                  .is_mapping = is_mapping});
    }

    // Everything in these bytes.
    void end(std::uint64_t address, std::uint64_t size, Nanoseconds time) {
        auto each = open_.upper_bound(address);
        if (each != open_.begin() && !ends_before(std::prev(each)->second, address))
            --each;
        while (each != open_.end() && each->first < address + size) {
            memory_.ranges[each->second].end = time;
            each = open_.erase(each);
        }
    }

    bool ends_before(std::size_t index, std::uint64_t address) const {
        const RecordedRange& range = memory_.ranges[index];
        return range.address + range.size <= address;
    }

    RecordedMemory& memory_;
    const RecordedLevel level_;
    StackTable stacks_;
    live::NameTables names_;
    std::map<std::uint64_t, std::size_t> open_;  // by address: of the ranges
};

}  // namespace

Result<RecordedMemory> read_recorded_memory(const std::string& path, RecordedLevel level) {
    TM_ASSIGN(const live::RecordingFile file, live::RecordingFile::open(path, live::Owner::anyone));
    RecordedMemory memory;
    memory.header = file.header();
    live::Header header = file.header();
    const std::string ending = fmt::format("-{:06}.tml", header.segment);
    const bool has_pieces = (header.flags & live::kSegmented) != 0 && path.ends_with(ending);
    live::put_text(header.recording,
                   has_pieces ? path.substr(0, path.size() - ending.size()) + ".tml" : path);
    memory.start = std::clamp<Nanoseconds>(header.start_time, 0, static_cast<Nanoseconds>(kLatest));
    if (header.first_sequence == 0)
        memory.first = memory.start;
    Reader reader(memory, level);
    live::RecordingChain chain(header, std::max(header.segment, 1U), live::Owner::anyone);
    for (;;) {
        TM_ASSIGN(const live::ChainPiece piece, chain.next(0));
        if (!piece.found) {
            reader.finish();
            return memory;
        }
        memory.lost += piece.forgotten;
        reader.take(piece.records);
    }
}

}  // namespace tidemark
