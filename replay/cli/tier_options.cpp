// Reading the options of tiers.
#include "replay/cli/tier_options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "backends/machines/machine_json.h"
#include "core/base/text.h"
#include "replay/cli/trace_input.h"
#include "replay/report/tiers/tier_report.h"
#include "traces/model/scaled_trace.h"

namespace tidemark {
namespace {

constexpr std::array kPrefetches{Prefetch::automatic, Prefetch::none, Prefetch::learned,
                                 Prefetch::oracle};
constexpr double kLargestPadding = 1000;

constexpr std::array kReservations{ReservationMode::wait, ReservationMode::up_to,
                                   ReservationMode::ignore};
constexpr std::array kOverReservations{OverReservationMode::ignore, OverReservationMode::fail,
                                       OverReservationMode::increase};

constexpr std::array<std::string_view, 13> kNames{
    "--machine",       "--gpu-memory",        "--host-memory",      "--spill",
    "--prefetch",      "--reservation",       "--over-reservation", "--padding",
    "--beyond-limit",  "--reservation-limit", "--spill-start",      "--spill-stop",
    "--forget-copies",
};

// The values' names, in their order.
template <class Enum, std::size_t N>
std::array<std::string_view, N> names_of(const std::array<Enum, N>& values) {
    std::array<std::string_view, N> names;
    std::transform(values.begin(), values.end(), names.begin(),
                   [](Enum value) { return to_text(value); });
    return names;
}

// `name` is one of them: Arguments::choice has seen to that.
template <class Enum, std::size_t N>
Enum value_of(const std::array<Enum, N>& values, std::string_view name) {
    return *std::ranges::find_if(values, [name](Enum value) { return to_text(value) == name; });
}

// "85%" or "0.85"; empty is 0, which leaves it to the machine.
Result<double> parse_share(std::string_view text, const char* where) {
    if (text.empty())
        return 0.0;
    const bool percent = text.ends_with('%');
    const Result<double> number = parse_real(percent ? text.substr(0, text.size() - 1) : text);
    const double share = number ? *number / (percent ? 100 : 1) : 0;
    if (!number || share <= 0 || share > 1)
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a share of memory", text),
                    where, "say 90% or 0.9");
    return share;
}

}  // namespace

void TierOptions::declare(Arguments& arguments, bool several) {
    arguments_ = &arguments;
    arguments.heading("Over tiers (GPU, host and disk as one memory)");
    arguments.input(
        {"--machine", "NAME", "the machine to simulate (see `tidemark machines`), or a file"},
        machine_);
    arguments.list({"--gpu-memory", several ? "LIST" : "SIZE",
                    several ? "sizes; 60% is of the program's peak (default: 80%,60%,40%,20%)"
                            : "80GiB, or 60% of the program's peak (default: the machine's)"},
                   memories_);
    arguments.list({"--spill", "P[:k=v,...]",
                    several ? "an eviction policy; may be repeated (default: all)"
                            : "the eviction policy, see `tidemark victims` (default: lru)"},
                   policies_);
    arguments.choice(
        rarely({"--prefetch", "HOW",
                "auto (default: as the eviction policy foresees), none, learned or oracle"}),
        names_of(kPrefetches), prefetch_);
    arguments.choice(rarely({"--reservation", "HOW",
                             "of the trace's tasks: wait (default), up-to (take what is available "
                             "immediately) or ignore"}),
                     names_of(kReservations), reservation_);
    arguments.choice(
        rarely({"--over-reservation", "HOW",
                "when a task needs more than it reserved: ignore (default), fail or increase"}),
        names_of(kOverReservations), over_reservation_);
    arguments.text(rarely({"--padding", "X",
                           "with --over-reservation increase: grow a reservation by X times what "
                           "is missing (default 1.25)"}),
                   padding_);
    arguments.flag(rarely({"--beyond-limit", "",
                           "with --over-reservation increase: above the limit, use free memory"}),
                   beyond_limit_);
    arguments.text(rarely({"--reservation-limit", "P%",
                           "reserve at most this share of each space (default: the machine's)"}),
                   reservation_limit_);
    arguments.bytes(
        rarely({"--host-memory", "SIZE", "size of each host node (default: the machine's)"}),
        host_memory_);
    arguments.text(
        rarely({"--spill-start", "P%", "use of a GPU at which spilling ahead of need starts"}),
        spill_start_);
    arguments.text(
        rarely({"--spill-stop", "P%", "use of a GPU at which spilling ahead of need stops"}),
        spill_stop_);
    arguments.flag(
        rarely({"--forget-copies", "", "copy a buffer again at each eviction, changed or not"}),
        forget_copies_);
}

bool TierOptions::wanted() const {
    return std::ranges::any_of(
        kNames, [this](std::string_view name) { return arguments_->given(std::string(name)); });
}

Result<void> TierOptions::refuse(std::span<const ForeignOption> others) const {
    const auto* const given = std::ranges::find_if(
        kNames, [this](auto name) { return arguments_->given(std::string(name)); });
    for (const ForeignOption& other : others) {
        if (arguments_->given(std::string(other.name)))
            return fail(ErrorCode::bad_option,
                        fmt::format("contradicts {}, which means a replay over tiers", *given),
                        std::string(other.name), std::string(other.hint));
    }
    return {};
}

Result<TierScenario> TierOptions::scenario() const {
    TierScenario scenario;
    scenario.machine = machine_;
    scenario.host_memory = host_memory_;
    scenario.prefetch = value_of(kPrefetches, prefetch_);
    scenario.reservation = value_of(kReservations, reservation_);
    scenario.over_reservation = value_of(kOverReservations, over_reservation_);
    scenario.keep_copies = !forget_copies_;
    scenario.beyond_limit = beyond_limit_;
    TM_ASSIGN(scenario.reservation_limit, parse_share(reservation_limit_, "--reservation-limit"));
    if ((!padding_.empty() || beyond_limit_) &&
        scenario.over_reservation != OverReservationMode::increase)
        return fail(ErrorCode::bad_option, "needs --over-reservation increase",
                    beyond_limit_ ? "--beyond-limit" : "--padding");
    if (!padding_.empty()) {
        const Result<double> padding = parse_real(padding_);
        if (!padding || *padding < 1 || *padding > kLargestPadding)
            return fail(ErrorCode::bad_option,
                        fmt::format("'{}' is not from 1 to {:g}", padding_, kLargestPadding),
                        "--padding");
        scenario.padding = *padding;
    }
    TM_ASSIGN(scenario.spill_start, parse_share(spill_start_, "--spill-start"));
    TM_ASSIGN(scenario.spill_stop, parse_share(spill_stop_, "--spill-stop"));
    if (scenario.spill_stop > 0 && scenario.spill_start == 0)
        return fail(ErrorCode::bad_option,
                    "says where spilling ahead ends, but not where it begins", "--spill-stop",
                    "give --spill-start as well");
    if (scenario.spill_start > 0 && scenario.spill_stop > scenario.spill_start)
        return fail(ErrorCode::bad_option, "is above --spill-start", "--spill-stop",
                    "spilling goes on from the start down to the stop");
    return scenario;
}

Result<MachineSpec> TierOptions::machine() const {
    return open_machine(machine_);
}

Result<GpuMemory> TierOptions::memory(Front& front) const {
    TM_ASSIGN(const std::vector<GpuMemory> memories, given_memories(front));
    if (memories.size() > 1)
        return fail(ErrorCode::bad_option, "a replay has one size", "--gpu-memory",
                    "tidemark compare takes several");
    return memories.empty() ? GpuMemory{} : memories.front();
}

Result<std::string> TierOptions::policy() const {
    if (policies_.size() > 1)
        return fail(ErrorCode::bad_option, "a replay has one victim policy", "--spill",
                    "tidemark compare takes several");
    const std::string policy = policies_.empty() ? TierScenario{}.spill : policies_.front();
    TM_TRY(parse_victim_policy(policy));
    return policy;
}

Result<std::vector<GpuMemory>> TierOptions::memories(Front& front) const {
    TM_ASSIGN(std::vector<GpuMemory> memories, given_memories(front));
    if (memories.empty())
        memories = {{0, 0.8}, {0, 0.6}, {0, 0.4}, {0, 0.2}};
    return memories;
}

Result<std::vector<GpuMemory>> TierOptions::given_memories(Front& front) const {
    std::vector<GpuMemory> memories;
    for (const std::string& arguments : memories_) {
        for (std::size_t begin = 0; begin <= arguments.size();) {
            const std::size_t end = std::min(arguments.find(',', begin), arguments.size());
            const std::string_view word = std::string_view(arguments).substr(begin, end - begin);
            TM_ASSIGN(const GpuMemory memory, parse_gpu_memory(word));
            if (const auto size = parse_typed_size(word); size && !size->note.empty())
                front.note(fmt::format("note: --gpu-memory: {}", size->note));
            memories.push_back(memory);
            begin = end + 1;
        }
    }
    return memories;
}

Result<std::vector<std::string>> TierOptions::policies() const {
    std::vector<std::string> policies = policies_;
    if (policies.empty()) {
        for (const VictimPolicyInfo& policy : all_victim_policies())
            policies.emplace_back(policy.name);
    }
    for (const std::string& policy : policies)
        TM_TRY(parse_victim_policy(policy));
    return policies;
}

Result<TierProgram> tier_program(const Trace& trace, double scale, const std::string& path) {
    TM_ASSIGN(const Scale factor, Scale::of(scale));
    const auto of_trace = in_trace(path);
    if (!factor.changes())
        return make_tier_program(trace).map_error(of_trace);
    return make_tier_program(ScaledTrace(trace, factor)).map_error(of_trace);
}

}  // namespace tidemark
