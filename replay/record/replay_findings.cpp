// Facts, the first difference with what is around it, and the comparison of the state at the end.
#include "replay/record/replay_findings.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr std::size_t kNeighbours = 6;

std::string describe(const TraceEvent& event) {
    return fmt::format("{} {} bytes at {:#x} on stream {}", to_text(event.kind), event.size,
                       event.address, to_integer(event.stream));
}

std::string describe(const ScriptedDevice::Call& call) {
    const std::string_view name = call.call == DeviceCall::malloc       ? "segment_alloc"
                                  : call.call == DeviceCall::free       ? "segment_free"
                                  : call.call == DeviceCall::set_access ? "segment_map"
                                                                        : "segment_unmap";
    return fmt::format("{} {} bytes at {:#x}", name, call.range.size, to_integer(call.range.begin));
}

// What a mismatch or a fact is about; the last step if the record is at its end.
const RecordedStep& first_step(const Situation& at, bool of_request) {
    const std::size_t step = of_request || at.cursor.segments().empty()
                                 ? at.cursor.position()
                                 : at.cursor.segments().front();
    return at.cursor.step(std::min(step, at.cursor.record().steps.size() - 1));
}

std::vector<std::string> blocks_near(const Allocator& allocator, Address address) {
    std::vector<Region> regions;
    allocator.for_each_region([&](const Region& region) {
        if (address >= region.segment.begin && address < region.segment.begin + region.segment.size)
            regions.push_back(region);
    });
    const auto after = std::ranges::find_if(
        regions, [&](const Region& region) { return region.range.begin > address; });
    const auto at = after - regions.begin();
    std::vector<std::string> lines;
    for (auto i = std::max<std::ptrdiff_t>(0, at - 3);
         i < std::min<std::ptrdiff_t>(std::ssize(regions), at + 3); ++i) {
        const Region& region = regions[static_cast<std::size_t>(i)];
        static constexpr std::string_view kStates[] = {"allocated", "waiting", "free", "hole"};
        lines.push_back(fmt::format("model     {:#x} {:>12} bytes {} (stream {}, pool {})",
                                    to_integer(region.range.begin), region.range.size,
                                    kStates[static_cast<std::size_t>(region.state)],
                                    to_integer(region.stream), to_integer(region.pool)));
    }
    return lines;
}

void add_neighbourhood(Mismatch& mismatch, const RecordCursor& cursor, const RecordedStep& step,
                       const Allocator& allocator) {
    const auto number = static_cast<std::size_t>(&step - cursor.record().steps.data());
    for (std::size_t i = number - std::min(number, kNeighbours); i <= number; ++i)
        mismatch.neighbourhood.push_back("recorded  " + describe(cursor.event(i)));
    for (std::string& line : blocks_near(allocator, Address{step.event.address}))
        mismatch.neighbourhood.push_back(std::move(line));
}

Mismatch mismatch_of(const Situation& at, const Attempt& attempt, const Allocator& allocator) {
    const RecordCursor& cursor = at.cursor;
    const RecordedStep& step = first_step(at, at.request != nullptr);
    Mismatch mismatch;
    mismatch.event = step.index;
    mismatch.what = step.event;
    for (const std::size_t entry : cursor.segments())
        mismatch.expected += describe(cursor.event(entry)) + "; ";
    mismatch.expected += at.request != nullptr ? describe(*at.request) : "";
    if (attempt.explanation.emptied)
        mismatch.actual = "cached memory released; ";
    for (const ScriptedDevice::Call& call : attempt.calls)
        mismatch.actual += describe(call) + "; ";
    if (attempt.granted && *attempt.granted)
        mismatch.actual += fmt::format("granted at {:#x}", to_integer((*attempt.granted)->address));
    else if (attempt.granted)
        mismatch.actual +=
            fmt::format("out of memory ({})", to_text(attempt.granted->error().cause));
    add_neighbourhood(mismatch, cursor, step, allocator);
    return mismatch;
}

// At the end: either may be missing there, null.
Mismatch mismatch_at_end(const DeviceRecord& record, const TraceEvent* block, const Region* region,
                         const Allocator& allocator) {
    Mismatch mismatch;
    mismatch.event = record.steps.empty() ? 0 : record.steps.back().index + 1;
    mismatch.what = block != nullptr ? *block : TraceEvent{};
    mismatch.expected = block != nullptr ? describe(*block) : "nothing";
    mismatch.actual = region != nullptr
                          ? fmt::format("a block of {} bytes at {:#x}", region->range.size,
                                        to_integer(region->range.begin))
                          : "nothing";
    mismatch.neighbourhood = blocks_near(allocator, Address{mismatch.what.address});
    return mismatch;
}

// A block that was freed before the trace began stays allocated in the model until it is finished:
// the same bytes.
bool is_same(const TraceEvent& block, const Region& region) {
    const bool held = (block.flags & (kActive | kPending)) != 0;
    return to_integer(region.range.begin) == block.address && region.range.size == block.size &&
           held == (region.state != Region::State::free);
}

}  // namespace

void ReplayFindings::add(const Situation& at, const Attempt& attempt, const Allocator& allocator) {
    decisions += at.cursor.segments().size() + (at.request != nullptr ? 1 : 0);
    mismatches += attempt.differences;
    if (attempt.differences != 0 && !first_mismatch)
        first_mismatch = mismatch_of(at, attempt, allocator);
    note_facts(at, attempt.explanation);
}

void ReplayFindings::note_facts(const Situation& at, const Explanation& how) {
    const RecordCursor& cursor = at.cursor;
    const RecordedStep& begin = first_step(at, false);
    const auto note = [&](InferredFact::Kind kind, std::uint64_t count = 0) {
        facts.push_back(
            {.kind = kind, .device = begin.event.device, .event = begin.index, .count = count});
    };
    if (how.switched != switched) {
        switched = how.switched;
        note(InferredFact::Kind::switched_segments);
    }
    if (how.in_scope)
        note(InferredFact::Kind::refused_in_scope);
    if (how.device_full)
        note(InferredFact::Kind::device_full);
    if (how.completed < cursor.completions().size())
        note(InferredFact::Kind::late_completions, cursor.completions().size() - how.completed);
    if (cursor.releases())
        note_releases(at, how);
}

// Pools end where the first of their segments is released, caches are empty at the last entry.
void ReplayFindings::note_releases(const Situation& at, const Explanation& how) {
    std::vector<PoolId> noted{PoolId::default_pool, how.pool};
    const RecordedStep* step = nullptr;
    for (const std::size_t entry : at.cursor.segments()) {
        if (!is_release(at.cursor.event(entry).kind))
            continue;
        step = &at.cursor.step(entry);
        const PoolId pool = at.pools.pool_of_release(step->event);
        if (!at.pools.infers() || std::ranges::find(noted, pool) != noted.end())
            continue;
        noted.push_back(pool);
        facts.push_back({.kind = InferredFact::Kind::ended_pool,
                         .device = step->event.device,
                         .event = step->index,
                         .pool = pool,
                         .count = how.pool_ended ? 1U : 0U});
    }
    if (how.emptied)
        facts.push_back({.kind = InferredFact::Kind::emptied_caches,
                         .device = step->event.device,
                         .event = step->index});
}

std::uint64_t ReplayFindings::compare_held(const RecordCursor& cursor, Bytes held,
                                           const Allocator& allocator) {
    ++decisions;
    const RecordedStep& step = cursor.step(cursor.position());
    if (held == step.event.size)
        return 0;
    ++mismatches;
    if (!first_mismatch) {
        first_mismatch =
            Mismatch{.event = step.index,
                     .what = step.event,
                     .expected = fmt::format("the pool holds {} bytes", step.event.size),
                     .actual = fmt::format("it holds {} bytes", held),
                     .neighbourhood = {}};
        add_neighbourhood(*first_mismatch, cursor, step, allocator);
    }
    return 1;
}

void ReplayFindings::keep_peak(const Usage& now) {
    peak.reserved = std::max(peak.reserved, now.reserved);
    peak.allocated = std::max(peak.allocated, now.allocated);
    peak.active = std::max(peak.active, now.active);
    peak.mapped = std::max(peak.mapped, now.mapped);
}

std::uint64_t ReplayFindings::compare_end(const DeviceRecord& record, const Allocator& allocator) {
    std::vector<Region> regions;
    allocator.for_each_region([&](const Region& region) { regions.push_back(region); });
    std::ranges::sort(regions, {}, [](const Region& region) { return region.range.begin; });
    const std::vector<TraceEvent>& blocks = record.final_blocks;
    const std::size_t count = std::max(regions.size(), blocks.size());
    std::uint64_t different = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const TraceEvent* const block = i < blocks.size() ? &blocks[i] : nullptr;
        const Region* const region = i < regions.size() ? &regions[i] : nullptr;
        if (block != nullptr && region != nullptr && is_same(*block, *region))
            continue;
        ++different;
        if (!first_mismatch)
            first_mismatch = mismatch_at_end(record, block, region, allocator);
    }
    final_blocks += count;
    decisions += count;
    mismatches += different;
    return different;
}

}  // namespace tidemark
