// Segments as PyTorch's snapshots hold them.
#include "replay/report/export/state_dump.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/printable.h"
#include "core/base/text.h"
#include "core/policies/torch_settings.h"
#include "replay/analysis/advise/settings.h"
#include "replay/report/export/pickle.h"
#include "replay/report/forms/table.h"

namespace tidemark {
namespace {

using report::Json;

std::string_view state_name(Region::State state) {
    switch (state) {
        case Region::State::allocated:
            return "active_allocated";
        case Region::State::waiting:
            return "active_pending_free";
        case Region::State::free:
        case Region::State::hole:
            break;
    }
    return "inactive";
}

std::string_view region_name(Region::State state) {
    constexpr std::string_view kNames[] = {"allocated", "pending free", "free", "hole"};
    return kNames[static_cast<std::size_t>(state)];
}

// PyTorch's pair of numbers: from its own name "(1, 0)"; other pools are the second of a pair.
Json pool_id(const TraceInfo& info, PoolId pool) {
    const std::size_t index = to_integer(pool);
    const std::string name = index < info.pools.size() ? info.pools[index] : std::string();
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    if (const std::size_t comma = name.find(", "); name.starts_with("(") && comma < name.size()) {
        std::from_chars(name.data() + 1, name.data() + comma, first);
        std::from_chars(name.data() + comma + 2, name.data() + name.size(), second);
        return {first, second};
    }
    return {0, index};
}

class Dump {
  public:
    explicit Dump(const TraceInfo& info) : info_(info) {}

    Json segment(const HeldSegment& held, std::size_t device) {
        Json blocks = Json::array();
        Bytes allocated = 0;
        Bytes active = 0;
        Bytes requested = 0;
        for (const HeldBlock& block : held.blocks) {
            const bool is_active =
                block.state == Region::State::allocated || block.state == Region::State::waiting;
            allocated += block.state == Region::State::allocated ? block.range.size : 0;
            active += is_active ? block.range.size : 0;
            requested += block.requested;
            blocks.push_back({{"address", to_integer(block.range.begin)},
                              {"size", block.range.size},
                              {"requested_size", block.requested},
                              {"state", state_name(block.state)},
                              {"frames", frames(block.stack)}});
        }
        const std::size_t stream = to_integer(held.stream);
        return {{"device", device},
                {"address", to_integer(held.range.begin)},
                {"total_size", held.range.size},
                {"allocated_size", allocated},
                {"active_size", active},
                {"requested_size", requested},
                {"stream", stream < info_.streams.size() ? info_.streams[stream] : stream},
                {"segment_type", is_small(held) ? "small" : "large"},
                {"segment_pool_id", pool_id(info_, held.pool)},
                {"is_expandable", held.expandable},
                {"frames", Json::array()},
                {"blocks", std::move(blocks)}};
    }

  private:
    // PyTorch's pool of small blocks has segments, or pages, of 2 MiB; those of the other are
    // larger.
    static bool is_small(const HeldSegment& held) {
        return held.expandable ? held.range.size % policies::kTorchLargePage != 0
                               : held.range.size <= policies::kTorchSmallSegment;
    }

    const Json& frames(std::uint32_t stack) {
        const auto [entry, fresh] = stacks_.try_emplace(stack, Json::array());
        if (fresh && stack < info_.stacks.size())
            for (const Frame& frame : info_.stacks[stack])
                entry->second.push_back({{"name", clean(info_.strings[frame.name])},
                                         {"filename", clean(info_.strings[frame.file])},
                                         {"line", frame.line}});
        return entry->second;
    }

    // With bytes replaced that aren't UTF-8.
    static Json clean(std::string_view text) {
        return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
    }

    const TraceInfo& info_;
    std::unordered_map<std::uint32_t, Json> stacks_;
};

Json address(const AddressSpan& span, std::size_t device, const TraceInfo& info) {
    const std::size_t stream = to_integer(span.stream);
    const std::uint64_t handle = stream < info.streams.size() ? info.streams[stream] : stream;
    return {{"device", device},
            {"address", to_integer(span.range.begin)},
            {"size", span.range.size},
            {"reservation", span.root},
            {"state", to_text(span.state)},
            {"stream", span.owned ? Json(handle) : Json()}};
}

// The settings that our reader and memory_viz know.
Json settings_of(const Run& run) {
    const auto option = [&run](std::string_view name) {
        const auto found = std::ranges::find_if(
            run.policy_options, [name](const auto& each) { return each.first == name; });
        return found == run.policy_options.end() ? std::string() : found->second;
    };
    const Result<PolicySpec> policy = parse_policy(run.scenario.policy);
    return {{"PYTORCH_CUDA_ALLOC_CONF",
             policy && run.policy_name == "torch" ? torch_conf(*policy) : ""},
            {"expandable_segments", option("expandable_segments") == "true"}};
}

}  // namespace

std::string state_dump(const HeldState& state, const Run& run, const TraceInfo& info,
                       const Provenance& provenance, bool as_pickle) {
    Dump dump(info);
    Json segments = Json::array();
    Json addresses = Json::array();
    Json traces = Json::array();
    for (std::size_t device = 0; device < state.devices.size(); ++device) {
        traces.push_back(Json::array());
        for (const HeldSegment& segment : state.devices[device])
            segments.push_back(dump.segment(segment, device));
        for (const AddressSpan& span : state.addresses[device])
            addresses.push_back(address(span, device, info));
    }
    const Json snapshot{{"tidemark", provenance.version},
                        {"command", provenance.command},
                        {"trace", run.scenario.trace},
                        {"policy", run.scenario.policy},
                        {"event", state.event},
                        {"segments", std::move(segments)},
                        {"addresses", std::move(addresses)},
                        {"device_traces", std::move(traces)},
                        {"allocator_settings", settings_of(run)}};
    return as_pickle ? report::pickle_of(snapshot) : report::text_of(snapshot);
}

std::string state_listing(const HeldState& state, const Run& run) {
    std::string text =
        fmt::format("tidemark state of {} under {}, after event {}\n",
                    printable(run.scenario.trace), run.policy_name, format_count(state.event));
    for (std::size_t device = 0; device < state.devices.size(); ++device) {
        Table table({{"address"}, {"bytes"}, {"state", Align::left}, {"of", Align::left}});
        const auto row = [&table](Range range, std::string_view what, const std::string& of) {
            table.row(fmt::format("0x{:x}", to_integer(range.begin)), format_count(range.size),
                      std::string(what), of);
        };
        AddressTotals totals;
        for (const AddressSpan& span : state.addresses[device]) {
            totals.add(span);
            row(span.range, to_text(span.state), fmt::format("reservation {}", span.root));
        }
        for (const HeldSegment& segment : state.devices[device]) {
            if (!state.addresses[device].empty() && segment.expandable)
                continue;  // among the addresses
            const std::string of =
                fmt::format("segment 0x{:x}, {}", to_integer(segment.range.begin),
                            format_bytes(segment.range.size));
            for (const HeldBlock& block : segment.blocks)
                row(block.range, region_name(block.state), of);
        }
        text += fmt::format("\nGPU {}", device);
        if (totals.reserved != 0)
            text += fmt::format(
                ": {} of addresses: allocated {}, free {}, pending free {}, zombies {}, "
                "holes {}, stuck {}",
                format_bytes(totals.reserved), format_bytes(totals.allocated),
                format_bytes(totals.free), format_bytes(totals.waiting),
                format_bytes(totals.zombies), format_bytes(totals.holes),
                format_bytes(totals.stuck));
        text += "\n" + table.bare("  ");
    }
    return text;
}

}  // namespace tidemark
