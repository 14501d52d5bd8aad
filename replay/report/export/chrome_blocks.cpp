// Blocks, ranges and marks of the program itself, in one pass.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/trace/sites.h"
#include "replay/report/export/chrome_entries.h"
#include "replay/report/export/chrome_launches.h"

namespace tidemark::report {
namespace {

// A block's slice while it is live.
struct Slice {
    std::string rest;  // its name, the same at its start and its end; "" = nothing is live
    std::size_t device = 0;
};

struct OpenRange {
    std::uint32_t name = 0;
    Nanoseconds begin = 0;
};

class Blocks {
  public:
    Blocks(const TraceInfo& info, ChromeEntries& entries)
        : info_(info),
          entries_(entries),
          launches_(info, entries),
          sites_(info),
          slices_(info.slot_count),
          open_(info.devices.size()) {}

    void add(const TraceEvent& event);

    // Ends the slices of blocks that are still live.
    void end();

  private:
    std::size_t device(const TraceEvent& event) const {
        return std::min<std::size_t>(event.device, open_.size() - 1);
    }

    void begin_block(const TraceEvent& event);
    void end_block(std::uint32_t slot, Nanoseconds time);
    void end_range(std::size_t device, std::uint32_t name, Nanoseconds time);

    void write_range(std::size_t device, const OpenRange& range, Nanoseconds time,
                     unsigned thread) {
        entries_.add_slice(
            device, range.begin, time,
            fmt::format(R"(,"tid":{},"name":{})", thread, json_text(info_.strings[range.name])));
    }

    std::string stream_name(StreamId stream) const {
        const std::size_t index = to_integer(stream);
        return fmt::format("stream {}",
                           index < info_.streams.size() ? info_.streams[index] : index);
    }

    const TraceInfo& info_;
    ChromeEntries& entries_;
    ChromeLaunches launches_;
    Sites sites_;
    std::vector<Slice> slices_;                 // by slot
    std::vector<std::vector<OpenRange>> open_;  // by device, outermost first
    std::uint64_t next_id_ = 1;
    Nanoseconds time_ = 0;
};

void Blocks::begin_block(const TraceEvent& event) {
    end_block(event.slot, event.time);
    Slice& slice = slices_[event.slot];
    const std::string stream = stream_name(event.stream);
    const std::string& site = sites_.site(event.stack);
    const std::string_view tag = info_.strings[event.tag];
    slice.device = device(event);
    slice.rest =
        fmt::format(R"(,"tid":{},"cat":"{}","id":{},"name":{})", kRangeThread, stream, next_id_++,
                    json_text(fmt::format("{}{}{}", stream, site.empty() && tag.empty() ? "" : ": ",
                                          site.empty() ? tag : site)));
    std::string arguments =
        fmt::format(R"("bytes":{},"size":"{}")", event.size, format_bytes(event.size));
    if (event.aux != 0 && event.aux < info_.pools.size())
        arguments += fmt::format(R"(,"pool":{})", json_text(info_.pools[event.aux]));
    if (!tag.empty())
        arguments += fmt::format(R"(,"tag":{})", json_text(tag));
    if ((event.flags & kPreamble) != 0)
        arguments += R"(,"from":"before the recording")";
    entries_.add('b', slice.device, event.time,
                 fmt::format(R"({},"args":{{{}}})", slice.rest, arguments));
}

void Blocks::end_block(std::uint32_t slot, Nanoseconds time) {
    Slice& slice = slices_[slot];
    if (slice.rest.empty())
        return;
    entries_.add('e', slice.device, time, slice.rest);
    slice.rest.clear();
}

// A range that ends before one that began in it goes to another thread: slices of one thread must
// be nested.
void Blocks::end_range(std::size_t device, std::uint32_t name, Nanoseconds time) {
    std::vector<OpenRange>& open = open_[device];
    const auto found = std::find_if(open.rbegin(), open.rend(),
                                    [name](const OpenRange& each) { return each.name == name; });
    if (found == open.rend())
        return;
    write_range(device, *found, time, found == open.rbegin() ? kRangeThread : kOverlapThread);
    open.erase(std::next(found).base());
}

void Blocks::add(const TraceEvent& event) {
    time_ = std::max(time_, event.time);
    const bool has_slot = event.slot < slices_.size();
    const bool has_stream = event.kind <= EventKind::record_use;
    if (has_stream)
        launches_.add(event);
    else if (event.kind == EventKind::execution)
        launches_.add_execution(event);
    switch (event.kind) {
        case EventKind::allocate:
            if (has_slot)
                begin_block(event);
            break;
        case EventKind::free:
        case EventKind::finish:
            if (has_slot)
                end_block(event.slot, event.time);
            break;
        case EventKind::retire:
            if (has_slot && !slices_[event.slot].rest.empty())
                entries_.add(
                    'n', slices_[event.slot].device, event.time,
                    slices_[event.slot].rest + R"(,"args":{"freed":"other streams use it"})");
            break;
        case EventKind::range_begin:
            open_[device(event)].push_back({event.aux, event.time});
            break;
        case EventKind::range_end:
            end_range(device(event), event.aux, event.time);
            break;
        case EventKind::mark:
            entries_.add_instant(device(event), event.time, info_.strings[event.aux], "");
            break;
        case EventKind::out_of_memory:
            entries_.add_instant(
                device(event), event.time, "out of memory (recorded)",
                fmt::format(R"("bytes":{},"device_free_bytes":{})", event.size, event.address));
            break;
        case EventKind::trim:
            entries_.add_instant(device(event), event.time, "empty_cache", "");
            break;
        default:
            break;
    }
}

void Blocks::end() {
    launches_.end(time_);
    for (std::uint32_t slot = 0; slot < slices_.size(); ++slot)
        end_block(slot, time_);
    for (std::size_t device = 0; device < open_.size(); ++device)
        while (!open_[device].empty())
            end_range(device, open_[device].back().name, time_);
}

}  // namespace

Result<void> write_blocks(const Trace& trace, ChromeEntries& entries) {
    Blocks blocks(trace.info(), entries);
    const auto cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count; ++i) {
            blocks.add(batch[i]);
            TM_TRY(entries.spill());
        }
    }
    blocks.end();
    return entries.spill();
}

}  // namespace tidemark::report
