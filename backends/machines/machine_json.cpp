// Reading machines. The first fault ends it, and is reported with its JSON pointer.
#include "backends/machines/machine_json.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "backends/machines/shipped_machines.h"
#include "backends/sim/description_file.h"
#include "backends/sim/json_value.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;
using Value = JsonValue<Json>;
using Names = std::vector<std::string_view>;

constexpr std::string_view kMachineJsonFormat = "tidemark-machine";
constexpr std::uint64_t kMachineJsonVersion = 1;

constexpr std::string_view kEverySpace[] = {"id",          "capacity",   "granularity",
                                            "spill_start", "spill_stop", "reservation_limit"};
constexpr std::string_view kHostSpace[] = {"block", "blocks_per_pool", "initial_pools"};
constexpr std::string_view kDiskSpace[] = {"directories"};

Error machine_fault(std::string_view where, const std::string& path, std::string what,
                    std::string hint) {
    return {ErrorCode::bad_input, std::move(what),
            fmt::format("{}{}{}", where, path.empty() ? "" : ": ", path), std::move(hint)};
}

constexpr JsonStyle kMachineStyle{.pointers = true, .text = "a text", .error = machine_fault};

// Whether it is an object whose members are all among `names`.
bool is_object_of(const Value& value, const Names& names) {
    if (!value.is_object())
        return false;
    for (const auto& item : value->items()) {
        if (std::ranges::find(names, item.key()) != names.end())
            continue;
        const std::string_view near = nearest(item.key(), names);
        value.refuse_member(item.key(), "unknown member",
                            near.empty() ? fmt::format("known members: {}", fmt::join(names, ", "))
                                         : fmt::format("did you mean {}", near));
        return false;
    }
    return true;
}

Bytes read_bytes(const Value& value) {
    if (!value.present())
        return 0;
    if (value->is_number_unsigned())
        return value->get<std::uint64_t>();
    if (value->is_string())
        return value.checked(parse_bytes(value->get_ref<const std::string&>()));
    value.refuse("expected bytes: a whole number, or a text like \"80GiB\"");
    return 0;
}

double read_bandwidth(const Value& value) {
    if (!value.present())
        return 0;
    if (value->is_number())
        return value->get<double>();
    const std::string text = value.text();
    if (text.ends_with("/s"))
        return static_cast<double>(
            value.checked(parse_bytes(std::string_view(text).substr(0, text.size() - 2))));
    value.refuse("expected a bandwidth: bytes per second, or a text like \"55.4GB/s\"");
    return 0;
}

double fraction_of(const Value& value, Bytes bytes, Bytes capacity) {
    if (bytes != 0 && bytes <= capacity && capacity <= kLargestSpace)
        return fraction_of_bytes(bytes, capacity);
    value.refuse(
        fmt::format("{} bytes is not above 0 and within the capacity, {}", bytes, capacity));
    return 0;
}

double read_threshold_text(const Value& value, Bytes capacity) {
    const auto& text = value->get_ref<const std::string&>();
    if (!text.ends_with('%')) {
        const Result<Bytes> size = parse_bytes(text);
        return size ? fraction_of(value, *size, capacity)
                    : static_cast<double>(value.checked(size));
    }
    const std::string number = text.substr(0, text.size() - 1) + "e-2";
    double fraction = 0;
    const char* const end = number.data() + number.size();
    const auto [stop, error] = read_real(number.data(), end, fraction);
    if (error != std::errc() || stop != end)
        value.refuse(fmt::format("'{}' is not a percentage", text));
    return fraction;
}

double read_threshold(const Value& value, Bytes capacity) {
    if (value->is_string())
        return read_threshold_text(value, capacity);
    if (value->is_number_unsigned() && value->get<std::uint64_t>() > 1)
        return fraction_of(value, value->get<std::uint64_t>(), capacity);
    if (value->is_number() && value->get<double>() <= 1)
        return value->get<double>();
    value.refuse("expected a fraction of the capacity up to 1, or bytes",
                 "write 0.85, \"85%\" or \"6GiB\"");
    return 0;
}

SpaceId read_space_id(const Value& value) {
    return value.checked(parse_space_id(value.text()));
}

Names space_members(Tier tier) {
    Names names{std::begin(kEverySpace), std::end(kEverySpace)};
    if (tier == Tier::host)
        names.insert(names.end(), std::begin(kHostSpace), std::end(kHostSpace));
    if (tier == Tier::disk)
        names.insert(names.end(), std::begin(kDiskSpace), std::end(kDiskSpace));
    return names;
}

// What only spaces on the host or on disks have.
void read_details(const Value& object, SpaceSpec& space) {
    constexpr std::uint64_t kMost = 1'000'000'000;
    if (const Value block = object.optional_member("block"); block.present())
        space.block = read_bytes(block);
    if (const Value blocks = object.optional_member("blocks_per_pool"); blocks.present())
        space.blocks_per_pool = static_cast<std::uint32_t>(blocks.count(kMost));
    if (const Value pools = object.optional_member("initial_pools"); pools.present())
        space.initial_pools = static_cast<std::uint32_t>(pools.count(kMost));
    const Value directories = object.optional_member("directories");
    for (std::size_t i = 0; directories.is_list() && i < directories->size(); ++i)
        space.directories.push_back(directories.element(i).text());
}

SpaceSpec read_space(const Value& object) {
    SpaceSpec space;
    if (!object.is_object())
        return space;
    space.id = read_space_id(object.member("id"));
    if (object.at_fault() || !is_object_of(object, space_members(space.id.tier)))
        return space;
    space.capacity = read_bytes(object.member("capacity"));
    if (const Value granularity = object.optional_member("granularity"); granularity.present())
        space.granularity = read_bytes(granularity);
    const std::pair<std::string_view, double*> thresholds[] = {
        {"reservation_limit", &space.reservation_limit},
        {"spill_start", &space.spill_start},
        {"spill_stop", &space.spill_stop}};
    for (const auto& [name, target] : thresholds) {
        if (const Value value = object.optional_member(name); value.present())
            *target = read_threshold(value, space.capacity);
    }
    read_details(object, space);
    return space;
}

LinkSpec read_link(const Value& object) {
    LinkSpec link;
    constexpr std::uint64_t kLongest = 1'000'000'000'000'000;
    if (!is_object_of(object,
                      {"source", "target", "bytes_per_second", "overhead", "latency", "bus"}))
        return link;
    link.source = read_space_id(object.member("source"));
    link.target = read_space_id(object.member("target"));
    link.bytes_per_second = read_bandwidth(object.member("bytes_per_second"));
    link.overhead = static_cast<Nanoseconds>(object.optional_member("overhead").count(kLongest));
    link.latency = static_cast<Nanoseconds>(object.optional_member("latency").count(kLongest));
    link.bus = object.optional_member("bus").text();
    return link;
}

BusSpec read_bus(const Value& object) {
    BusSpec bus;
    if (is_object_of(object, {"name", "bytes_per_second"})) {
        bus.name = object.member("name").text();
        bus.bytes_per_second = read_bandwidth(object.member("bytes_per_second"));
    }
    return bus;
}

// Fills `target` with the results of `read` for each element, up to the first fault.
template <class T>
void read_list(const Value& list, std::vector<T>& target, T (*read)(const Value&)) {
    for (std::size_t i = 0; list.is_list() && i < list->size() && !list.at_fault(); ++i)
        target.push_back(read(list.element(i)));
}

void read_machine(const Value& root, DescribedMachine& described) {
    if (!is_object_of(root, {"format", "version", "name", "spaces", "links", "buses", "derived"}))
        return;
    if (root.member("format").text() != kMachineJsonFormat)
        root.refuse_member("format", fmt::format("expected \"{}\"", kMachineJsonFormat));
    if (root.member("version").count(kMachineJsonVersion) != kMachineJsonVersion)
        root.refuse_member("version", fmt::format("expected {}", kMachineJsonVersion));
    MachineSpec& machine = described.machine;
    machine.name = root.member("name").text();
    if (machine.name.empty())
        root.refuse_member("name", "expected a name");
    read_list(root.member("spaces"), machine.spaces, read_space);
    read_list(root.member("links"), machine.links, read_link);
    read_list(root.optional_member("buses"), machine.buses, read_bus);
    const Value derived = root.optional_member("derived");
    if (!derived.is_object())
        return;
    for (const auto& item : derived->items())
        described.derived.emplace_back(item.key(), derived.member(item.key()).text());
}

// The text as a value. A member that occurs twice is a fault: which of the two was meant?
Result<Json> parse_json(std::string_view json, std::string_view where) {
    std::vector<std::set<std::string>> open;
    std::string twice;
    const auto watch = [&](int, Json::parse_event_t event, const Json& value) {
        if (event == Json::parse_event_t::object_start)
            open.emplace_back();
        if (event == Json::parse_event_t::object_end)
            open.pop_back();
        if (event == Json::parse_event_t::key && twice.empty() &&
            !open.back().insert(value.get<std::string>()).second)
            twice = value.get<std::string>();
        return true;
    };
    try {
        Json root = Json::parse(json, watch);
        if (!twice.empty())
            return fail(ErrorCode::bad_input, fmt::format("'{}' is twice in one object", twice),
                        std::string{where});
        return root;
    } catch (const Json::parse_error& error) {
        return fail(ErrorCode::bad_input, fmt::format("not JSON: fault at byte {}", error.byte),
                    std::string{where}, "a machine description is expected");
    } catch (const Json::out_of_range&) {
        return fail(ErrorCode::bad_input, "a number is out of range", std::string{where});
    }
}

}  // namespace

Result<DescribedMachine> parse_machine(std::string_view json, std::string_view where) {
    TM_ASSIGN(const Json root, parse_json(json, where));
    JsonDocument document(kMachineStyle, where);
    DescribedMachine described;
    read_machine({document, &root}, described);
    if (document.fault())
        return tl::make_unexpected(*document.fault());
    if (Result<void> valid = described.machine.validate(); !valid) {
        Error error = std::move(valid).error();
        error.where = fmt::format("{}: {}", where, error.where);
        return tl::make_unexpected(std::move(error));
    }
    return described;
}

Result<DescribedMachine> open_described_machine(std::string_view name_or_path) {
    for (const ShippedMachine& shipped : shipped_machines()) {
        if (shipped.name == name_or_path)
            return parse_machine(shipped.json, shipped.name);
    }
    const std::string path{name_or_path};
    TM_ASSIGN(const std::string text,
              read_description(path, machine_names(),
                               {"machine", "machines", "not a machine description"}));
    return parse_machine(text, path);
}

Result<MachineSpec> open_machine(std::string_view name_or_path) {
    TM_ASSIGN(DescribedMachine described, open_described_machine(name_or_path));
    return std::move(described.machine);
}

std::vector<std::string_view> machine_names() {
    std::vector<std::string_view> names;
    for (const ShippedMachine& shipped : shipped_machines())
        names.push_back(shipped.name);
    return names;
}

}  // namespace tidemark
