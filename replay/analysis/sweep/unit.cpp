// Names, and who does what.
#include "replay/analysis/sweep/unit.h"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "core/base/text.h"
#include "traces/tmk/wire.h"

namespace tidemark {
namespace {

// The variables of one scheduler; those without a name don't exist there.
struct Scheduler {
    const char* index;
    std::uint64_t first;  // number of the first part where `first_name` doesn't say it
    const char* first_name;
    const char* step;
    const char* count;
    const char* last;
};

constexpr std::array<Scheduler, 6> kSchedulers{{
    {"SLURM_ARRAY_TASK_ID", 0, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP",
     "SLURM_ARRAY_TASK_COUNT", nullptr},
    {"SGE_TASK_ID", 1, "SGE_TASK_FIRST", "SGE_TASK_STEPSIZE", nullptr, "SGE_TASK_LAST"},
    {"OMPI_COMM_WORLD_RANK", 0, nullptr, nullptr, "OMPI_COMM_WORLD_SIZE", nullptr},
    {"PMI_RANK", 0, nullptr, nullptr, "PMI_SIZE", nullptr},
    {"JOB_COMPLETION_INDEX", 0, nullptr, nullptr, nullptr, nullptr},
    {"PARALLEL_SEQ", 1, nullptr, nullptr, nullptr, nullptr},
}};

Result<Shard> checked(std::uint64_t number, std::uint64_t parts, std::string_view text) {
    if (parts == 0 || number == 0 || number > parts)
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a part of a sweep", text),
                    "--shard", "3/16 is the third of sixteen");
    return Shard{static_cast<std::size_t>(number - 1), static_cast<std::size_t>(parts)};
}

}  // namespace

std::string unit_name(std::uint64_t trace_hash, const SweepSetting& setting,
                      std::uint64_t profile_hash, std::string_view version) {
    tmk::ByteWriter writer;
    writer.put(kSweepFormat);
    writer.put_text(version);
    writer.put(trace_hash);
    writer.put_text(setting.policy);
    writer.put(profile_hash);
    writer.put_text(fmt::format("{} {} {} {}", setting.memory,
                                setting.overhead ? fmt::format("{}", *setting.overhead) : "usual",
                                setting.limit ? fmt::format("{}", *setting.limit) : "recorded",
                                setting.scale));
    return fmt::format("{:016x}", tmk::hash_bytes(writer.bytes()));
}

UnitRange units_of_shard(std::size_t count, std::size_t index, std::size_t parts) {
    const auto begin_of = [&](std::size_t part) {
        return count / parts * part + std::min(count % parts, part);
    };
    return {begin_of(index), begin_of(index + 1)};
}

Result<Shard> parse_shard(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos)
        return checked(0, 0, text);
    const Result<std::uint64_t> number = parse_count(text.substr(0, slash));
    const Result<std::uint64_t> parts = parse_count(text.substr(slash + 1));
    return checked(number.value_or(0), parts.value_or(0), text);
}

Result<Shard> scheduled_shard(std::string_view text,
                              std::string_view (*variable)(const char* name)) {
    const auto number = [variable](const char* name) -> std::optional<std::uint64_t> {
        if (name == nullptr)
            return std::nullopt;
        const Result<std::uint64_t> value = parse_count(variable(name));
        return value ? std::optional(*value) : std::nullopt;
    };
    std::optional<std::uint64_t> parts;
    if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
        TM_ASSIGN(parts, parse_count(text.substr(slash + 1)));
    }
    for (const Scheduler& scheduler : kSchedulers) {
        const std::optional<std::uint64_t> index = number(scheduler.index);
        if (!index)
            continue;
        const std::uint64_t first = number(scheduler.first_name).value_or(scheduler.first);
        const std::uint64_t step = std::max<std::uint64_t>(number(scheduler.step).value_or(1), 1);
        if (!parts)
            parts = number(scheduler.count);
        if (const auto last = number(scheduler.last); !parts && last && *last >= first)
            parts = (*last - first) / step + 1;
        if (!parts)
            return fail(ErrorCode::bad_option,
                        fmt::format("{} doesn't say how many parts there are", scheduler.index),
                        "--shard", "write auto/16, for example, for sixteen parts");
        if (*index < first)
            return checked(0, *parts, text);
        return checked((*index - first) / step + 1, *parts, text);
    }
    return fail(ErrorCode::bad_option, "no scheduler started this", "--shard",
                "auto works for Slurm's and SGE's arrays, Kubernetes, MPI and GNU parallel; write "
                "3/16, for example");
}

}  // namespace tidemark
