// Writing .tmk: full chunks as they come; names, index and trailer at the end. What is written is a
// function of the events and the information, however they were cut into pieces.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/base/check.h"
#include "traces/tmk/chunk.h"
#include "traces/tmk/index_block.h"
#include "traces/tmk/info_block.h"
#include "traces/tmk/tmk.h"
#include "traces/tmk/wire.h"

namespace tidemark {
namespace {

using namespace tmk;

struct FreeHashState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

class TmkWriter final : public TraceSink {
  public:
    explicit TmkWriter(ByteSink& target) : target_(target), content_(XXH3_createState()) {
        TM_CHECK(content_ != nullptr);
        XXH3_64bits_reset(content_.get());
    }

    Result<void> append(std::span<const TraceEvent> events) override {
        TM_CHECK(!finished_);
        while (!events.empty()) {
            const auto piece = events.first(std::min(events.size(), chunk_.room()));
            chunk_.add(piece);
            XXH3_64bits_update(content_.get(), piece.data(), piece.size_bytes());
            events = events.subspan(piece.size());
            if (chunk_.room() == 0)
                TM_TRY(write_chunk());
        }
        return {};
    }

    Result<void> finish(const TraceInfo& info) override {
        TM_CHECK(!finished_);
        finished_ = true;
        TM_TRY(chunk_.count() == 0 ? write_header() : write_chunk());
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
    // What the events themselves say goes before what the reader thinks.
    TraceInfo with_facts(TraceInfo info) const {
        info.event_count = next_event_;
        info.slot_count = static_cast<std::uint32_t>(chunk_.limits().slots);
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

    // Events that name what the tables do not have would make a file that cannot be read.
    Result<void> check(const TraceInfo& info) const {
        const Limits& used = chunk_.limits();
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

    Result<void> write_chunk() {
        TM_TRY(write_header());
        ChunkHeader header;
        header.first_event = next_event_;
        header.content_hash = XXH3_64bits_digest(content_.get());
        XXH3_64bits_reset(content_.get());
        payload_.clear();
        header = chunk_.encode(header, payload_);
        index_.chunks.push_back({.offset = offset_,
                                 .size = kBlockHeaderSize + payload_.size(),
                                 .first_event = header.first_event,
                                 .count = header.count,
                                 .first_time = header.first_time,
                                 .last_time = header.last_time,
                                 .content_hash = header.content_hash});
        next_event_ += header.count;
        return write_block(BlockKind::events, payload_);
    }

    ByteSink& target_;
    ChunkEncoder chunk_;
    std::unique_ptr<XXH3_state_t, FreeHashState> content_;  // of the chunk's events so far
    ByteWriter payload_;
    Index index_;
    std::uint64_t offset_ = 0;
    std::uint64_t next_event_ = 0;
    bool finished_ = false;
};

}  // namespace

std::unique_ptr<TraceSink> make_tmk_writer(ByteSink& target) {
    return std::make_unique<TmkWriter>(target);
}

}  // namespace tidemark
