// Walks the blocks from the start. The missing information about slots, streams and devices is
// reconstructed from the events.
#include "traces/tmk/salvage.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "traces/tmk/chunk_decoder.h"
#include "traces/tmk/info_block.h"

namespace tidemark::tmk {
namespace {

// A real trace doesn't have more streams than this.
constexpr std::uint64_t kMostStreams = std::uint64_t{1} << 20U;

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr Limits kAnything{kAny, kAny, kAny, kAny, kAny};

class Salvager {
  public:
    Salvager(const FileBytes& file, const std::string& name) : file_(file), name_(name) {}

    Result<Salvage> run() {
        std::uint64_t offset = kHeaderSize;
        for (;;) {
            TM_ASSIGN(const FoundBlock found, file_.block(offset, file_.size(), buffer_));
            if (!found.whole || !found.intact)
                break;
            if (found.block.kind == BlockKind::events)
                TM_TRY(take_chunk(found.block, offset));
            if (found.block.kind == BlockKind::info)
                TM_TRY(take_info(found.block, offset));
            offset += found.block.size;
        }
        TM_TRY(complete(offset));
        return std::move(result_);
    }

  private:
    Result<void> take_chunk(const Block& block, std::uint64_t offset) {
        const auto located = [this, offset](Error error) {
            error.where = fmt::format("{}:{:#x}", name_, offset);
            return tl::make_unexpected(std::move(error));
        };
        if (auto opened = decoder_.open(block.payload, kAnything, false); !opened)
            return located(std::move(opened).error());
        const ChunkHeader& header = decoder_.header();
        for (;;) {
            auto batch = decoder_.next();
            if (!batch)
                return located(std::move(batch).error());
            if (batch->count == 0)
                break;
            take_events(*batch);
        }
        result_.index.chunks.push_back({.offset = offset,
                                        .size = block.size,
                                        .first_event = events_,
                                        .count = header.count,
                                        .first_time = header.first_time,
                                        .last_time = header.last_time,
                                        .content_hash = header.content_hash});
        events_ += header.count;
        return {};
    }

    void take_events(const EventBatch& batch) {
        for (std::size_t i = 0; i < batch.count; ++i) {
            if (batch.slot[i] != kNoSlot)
                used_.slots = std::max(used_.slots, std::uint64_t{batch.slot[i]} + 1);
            used_.streams = std::max(used_.streams, std::uint64_t{to_integer(batch.stream[i])} + 1);
            used_.devices = std::max(used_.devices, std::uint64_t{batch.device[i]} + 1);
            in_preamble_ = in_preamble_ && (batch.flags[i] & kPreamble) != 0;
            preamble_ += in_preamble_ ? 1 : 0;
        }
    }

    Result<void> take_info(const Block& block, std::uint64_t offset) {
        auto decoded = decode_info(block.payload);
        if (!decoded) {
            decoded.error().where = fmt::format("{}:{:#x}", name_, offset);
            return tl::make_unexpected(std::move(decoded).error());
        }
        result_.info = std::move(decoded->info);
        result_.info_hash = decoded->content_hash;
        has_info_ = true;
        return {};
    }

    Result<void> complete(std::uint64_t end) {
        if (used_.slots > events_ || used_.streams > kMostStreams)
            return fail(ErrorCode::bad_input, "events name impossible slots or streams", name_);
        TraceInfo& info = result_.info;
        if (!has_info_) {
            info.format = "tmk";
            info.pools = {"default"};
            info.preamble_count = preamble_;
            info.begins_inside = preamble_ != 0;
        }
        info.event_count = events_;
        info.preamble_count = std::min(info.preamble_count, events_);
        info.slot_count = static_cast<std::uint32_t>(used_.slots);
        info.duration = events_ == 0 ? 0 : result_.index.chunks.back().last_time;
        if (info.devices.size() < std::max<std::uint64_t>(used_.devices, 1))
            info.devices.resize(std::max<std::uint64_t>(used_.devices, 1));
        for (std::uint64_t i = info.streams.size(); i < std::max<std::uint64_t>(used_.streams, 1);)
            info.streams.push_back(i++);
        info.cut_off = true;
        std::string warning = fmt::format(
            "the file is cut off or damaged at byte {}: its first {} events are complete and were "
            "kept",
            end, format_count(events_));
        if (!has_info_)
            warning += "; names, call stacks and settings were stored after them and are lost";
        info.warnings.push_back(std::move(warning));
        return {};
    }

    const FileBytes& file_;
    PieceBuffer buffer_;
    const std::string& name_;
    Salvage result_;
    ChunkDecoder decoder_;
    Limits used_;
    std::uint64_t events_ = 0;
    std::uint64_t preamble_ = 0;
    bool in_preamble_ = true;
    bool has_info_ = false;
};

}  // namespace

Result<Salvage> salvage(const FileBytes& file, const std::string& name) {
    return Salvager(file, name).run();
}

}  // namespace tidemark::tmk
