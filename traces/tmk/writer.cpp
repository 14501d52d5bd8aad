// Writing .tmk: full chunks as they come; names, index and trailer at the end. The output is a
// function of the events and the information, however they were cut into pieces.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/base/check.h"
#include "traces/tmk/index_block.h"
#include "traces/tmk/info_block.h"
#include "traces/tmk/parallel_chunk_encoder.h"
#include "traces/tmk/tmk.h"
#include "traces/tmk/wire.h"

namespace tidemark {
namespace {

using namespace tmk;

class TmkWriter final : public TraceSink {
  public:
    TmkWriter(ByteSink& target, unsigned helpers) : target_(target), encoder_(helpers) {}

    Result<void> append(std::span<const TraceEvent> events) override {
        TM_CHECK(!finished_);
        while (!events.empty()) {
            if (filling_ == nullptr)
                start_chunk();
            const std::size_t room = kChunkEvents - filling_->events.size();
            const auto piece = events.first(std::min(events.size(), room));
            filling_->events.append(piece);
            events = events.subspan(piece.size());
            if (piece.size() == room)
                TM_TRY(end_chunk());
        }
        return {};
    }

    Result<void> finish(const TraceInfo& info) override {
        TM_CHECK(!finished_);
        finished_ = true;
        TM_TRY(write_header());
        if (filling_ != nullptr)
            TM_TRY(end_chunk());
        TM_TRY(write_chunks(0));
        const TraceInfo facts = with_facts(info);
        TM_TRY(check(facts));
        index_.info_offset = offset_;
        TM_TRY(write_block(BlockKind::info, encode_info(facts).payload));
        ByteWriter trailer;
        trailer.put(offset_);
        TM_TRY(write_block(BlockKind::index, encode_index(index_)));
        trailer.put(kEndMagic);
        return write(trailer.bytes());
    }

  private:
    // What the events themselves show takes priority over what the reader reports.
    TraceInfo with_facts(TraceInfo info) {
        info.event_count = next_event_;
        info.slot_count = static_cast<std::uint32_t>(encoder_.limits().slots);
        info.duration = index_.chunks.empty() ? 0 : index_.chunks.back().last_time;
        info.preamble_count = std::min(info.preamble_count, next_event_);
        if (info.devices.empty())
            info.devices.emplace_back();
        if (info.streams.empty())
            info.streams.push_back(0);
        if (info.pools.empty())
            info.pools.emplace_back("default");
        return info;
    }

    // Events that name missing table entries would make an unreadable file.
    Result<void> check(const TraceInfo& info) {
        const Limits used = encoder_.limits();
        const auto missing = [](std::string_view what, std::uint64_t used_count,
                                std::uint64_t count) -> Result<void> {
            if (used_count <= count)
                return {};
            return fail(ErrorCode::bad_input,
                        fmt::format("events name {} {}, but the trace has only {}", what,
                                    used_count - 1, count));
        };
        TM_TRY(missing("slot", used.slots, info.event_count));
        TM_TRY(missing("stream", used.streams, info.streams.size()));
        TM_TRY(missing("device", used.devices, info.devices.size()));
        TM_TRY(missing("call stack", used.stacks, info.stacks.size()));
        return missing("string", used.strings, info.strings.size());
    }

    Result<void> write(std::span<const std::byte> bytes) {
        offset_ += bytes.size();
        return target_.write(bytes);
    }

    Result<void> write_header() {
        if (offset_ != 0)
            return {};
        ByteWriter header;
        header.put(kMagic);
        header.put(kVersion);
        header.put(std::uint32_t{0});
        return write(header.bytes());
    }

    Result<void> write_block(BlockKind kind, const ByteWriter& payload) {
        return write(make_block(kind, payload.bytes()));
    }

    void start_chunk() {
        filling_ = spare_.empty() ? std::make_unique<EncodedChunk>() : std::move(spare_.back());
        if (!spare_.empty())
            spare_.pop_back();
        filling_->events.truncate(0);
        if (next_event_ != 0)  // a short trace needs less
            filling_->events.reserve(kChunkEvents);
    }

    Result<void> end_chunk() {
        const std::uint64_t first_event = next_event_;
        next_event_ += filling_->events.size();
        encoder_.give(std::move(filling_), first_event);
        return write_chunks(encoder_.capacity());
    }

    // Writes those that are done, and more until at most `most` are left.
    Result<void> write_chunks(std::size_t most) {
        while (std::unique_ptr<EncodedChunk> chunk = encoder_.take(encoder_.count() > most)) {
            TM_TRY(write_header());
            TM_TRY(write_chunk(*chunk));
            spare_.push_back(std::move(chunk));
        }
        return {};
    }

    Result<void> write_chunk(const EncodedChunk& chunk) {
        index_.chunks.push_back({.offset = offset_,
                                 .size = kBlockHeaderSize + chunk.payload.size(),
                                 .first_event = chunk.header.first_event,
                                 .count = chunk.header.count,
                                 .first_time = chunk.header.first_time,
                                 .last_time = chunk.header.last_time,
                                 .content_hash = chunk.header.content_hash});
        return write_block(BlockKind::events, chunk.payload);
    }

    ByteSink& target_;
    ParallelChunkEncoder encoder_;
    std::unique_ptr<EncodedChunk> filling_;             // null between chunks
    std::vector<std::unique_ptr<EncodedChunk>> spare_;  // for their memory
    Index index_;
    std::uint64_t offset_ = 0;
    std::uint64_t next_event_ = 0;
    bool finished_ = false;
};

}  // namespace

std::unique_ptr<TraceSink> make_tmk_writer(ByteSink& target, unsigned helpers) {
    return std::make_unique<TmkWriter>(target, helpers);
}

}  // namespace tidemark
