// LiveFeed: makes a History of a live program's records, as they come. Lost records don't end it:
// frees of unknown blocks are counted, and an address that is allocated while another block seems
// to have it ends that block.
//
// When the history has as many events as requested, a new one starts from what is live: the old one
// stays readable for whoever holds it. One thread at a time; any threads may read the histories
// meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/hash_index.h"
#include "core/base/result.h"
#include "core/base/vacant_ids.h"
#include "replay/timeline/history_builder.h"
#include "traces/live/names.h"
#include "traces/live/recording_chain.h"
#include "traces/live/wire.h"

namespace tidemark::viz {

struct FeedCounts {
    std::uint64_t records = 0;        // that were read
    std::uint64_t unknown_frees = 0;  // of blocks that were live before what is known, or were lost
    std::uint64_t lost = 0;           // as the recording says
    std::uint64_t forgotten = 0;      // left out: they were gone before they were read
    bool ended = false;               // the recording has an end
    bool died = false;                // and its program didn't close it
};

class LiveFeed {
  public:
    // `most_events` of one history, at least 1024. Errors: io. All times are later by `shift`, at
    // most 2^61 ns.
    static Result<std::unique_ptr<LiveFeed>> create(const live::Header& header,
                                                    std::uint64_t most_events,
                                                    Nanoseconds shift = 0);

    // Takes in the next piece and publishes it. Errors: io, when there is no room for the history.
    Result<void> add(const live::ChainPiece& piece);

    std::shared_ptr<const History> history() const { return builder_->history(); }

    const FeedCounts& counts() const { return counts_; }

    // Nothing follows. Errors: io.
    Result<void> finish() { return builder_->finish(); }

  private:
    // A range of addresses, or of the program.
    struct OpenRange {
        live::Record record;
        std::string name;
        bool seen = true;
    };

    struct Held {
        live::Record record;
        bool seen = false;  // in the current snapshot
    };

    // A site of the history, and which records have it.
    struct KnownSite {
        std::uint64_t key = ~std::uint64_t{0};
        std::uint32_t site = 0;
    };

    // By device and address.
    using HeldRanges = std::map<std::pair<std::uint8_t, std::uint64_t>, Held>;

    LiveFeed(const live::Header& header, std::uint64_t most_events, Nanoseconds shift)
        : header_(header), most_events_(most_events), shift_(shift) {}

    static constexpr std::uint64_t kMostTime = std::uint64_t{1} << 61U;  // no time is longer

    // On the history's axis.
    Nanoseconds shifted(std::uint64_t time) const {
        return static_cast<Nanoseconds>(std::min(time, kMostTime)) + shift_;
    }

    Result<void> begin_history();
    Result<void> begin_anew();
    void begin_snapshot(std::uint64_t forgotten);
    void end_snapshot();
    void take(std::span<const live::Record> records);
    void apply(const live::Record& record);
    void apply_notice(const live::Record& record);
    void allocate(const live::Record& record);
    void restore(const live::Record& record);
    void free(const live::Record& record);
    void retire(const live::Record& record);
    void use(const live::Record& record);
    void execution(const live::Record& record);
    BlockIndex block_of(const live::Record& record) const;
    void release(std::uint32_t slot, std::uint64_t time);
    void look_ahead(const live::Record& record) const;
    void begin_range(const live::Record& record);
    void end_range(std::uint64_t time, const std::string& name);
    std::string name_of(const live::Record& range) const;
    void begin_memory(HeldRanges& held, const live::Record& record, SegmentChange change);
    void end_memory(HeldRanges& held, const live::Record& record, SegmentChange change);
    void keep_rest(HeldRanges& held, const live::Record& mapping, Range unmapped);
    void end_unseen(HeldRanges& held, SegmentChange change);
    void change_memory(const live::Record& record);
    void put_memory(const live::Record& record, SegmentChange change);
    void put_block(std::uint32_t slot);
    bool put_event(std::uint64_t time, EventKind kind, BlockIndex block = kNoBlock,
                   std::uint32_t name = 0);
    std::uint32_t site_of(const live::Record& record);
    bool ready_for_event();
    void update_names();

    static std::uint64_t key(const live::Record& record) {
        return record.address ^ (static_cast<std::uint64_t>(record.device) << 56U);
    }

    live::Header header_;
    std::uint64_t most_events_;
    Nanoseconds shift_;
    std::unique_ptr<HistoryBuilder> builder_;
    std::unique_ptr<live::NameTables> names_;
    std::vector<live::Record> definitions_;  // all names, with payloads
    FeedCounts counts_;
    std::uint64_t latest_ = 0;  // time of the last record
    Bytes reserved_ = 0;
    bool in_snapshot_ = false;

    std::uint64_t pending_lost_ = 0;  // to be marked at the next event

    // Blocks. An end must not touch what only a new start needs: it is anywhere in memory.
    HashIndex slot_of_;
    VacantIds slots_;
    std::vector<BlockIndex> blocks_;      // by slot: in the history; kNoBlock = vacant
    std::vector<live::Record> begins_;    // by slot: the record that began it
    std::vector<bool> seen_;              // by slot: in the current snapshot
    std::array<KnownSite, 256> sites_{};  // the last ones, by hash of the key
    HeldRanges segments_;
    HeldRanges mappings_;
    HeldRanges reservations_;
    std::vector<OpenRange> ranges_;  // of the program, in order of start
    std::size_t streams_named_ = 0;
    std::size_t pools_named_ = 0;
};

}  // namespace tidemark::viz
