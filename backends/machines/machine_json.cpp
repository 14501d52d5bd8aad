// Reading machines. The first fault ends it, and is reported with its JSON pointer.
#include "backends/machines/machine_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "backends/machines/shipped_machines.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMachineJsonFormat = "tidemark-machine";
constexpr std::uint64_t kMachineJsonVersion = 1;
constexpr std::size_t kMachineJsonLargestFile = 1_MiB;

constexpr std::string_view kEverySpace[] = {"id",          "capacity",   "granularity",
                                            "spill_start", "spill_stop", "reservation_limit"};
constexpr std::string_view kHostSpace[] = {"block", "blocks_per_pool", "initial_pools"};
constexpr std::string_view kDiskSpace[] = {"directories"};

using Names = std::vector<std::string_view>;

// Reads values; the first fault is kept.
class MachineReader {
  public:
    explicit MachineReader(std::string_view where) : where_(where) {}

    const std::optional<Error>& fault() const { return fault_; }

    void refuse(const std::string& pointer, std::string what, std::string hint = {}) {
        if (!fault_)
            fault_ = Error{ErrorCode::bad_input, std::move(what),
                           fmt::format("{}{}{}", where_, pointer.empty() ? "" : ": ", pointer),
                           std::move(hint)};
    }

    // Of an object, whose members must all be among `names`.
    bool is_object(const Json& value, const std::string& pointer, const Names& names);
    bool is_list(const Json& value, const std::string& pointer);

    // The member `name`; null if there is none, which is a fault of its own unless it is optional.
    const Json* member(const Json& object, const std::string& pointer, std::string_view name,
                       bool optional = false);

    std::string text(const Json* value, const std::string& pointer);
    std::uint64_t count(const Json* value, const std::string& pointer, std::uint64_t largest);
    Bytes bytes(const Json* value, const std::string& pointer);
    double bandwidth(const Json* value, const std::string& pointer);
    double threshold(const Json& value, const std::string& pointer, Bytes capacity);
    SpaceId space_id(const Json* value, const std::string& pointer);

  private:
    double threshold_of_text(const std::string& value, const std::string& pointer, Bytes capacity);
    double threshold_of_bytes(Bytes value, const std::string& pointer, Bytes capacity);

    std::string_view where_;
    std::optional<Error> fault_;
};

bool MachineReader::is_object(const Json& value, const std::string& pointer, const Names& names) {
    if (!value.is_object()) {
        refuse(pointer, "expected an object");
        return false;
    }
    for (const auto& item : value.items()) {
        if (std::ranges::find(names, item.key()) != names.end())
            continue;
        const std::string_view near = nearest(item.key(), names);
        refuse(fmt::format("{}/{}", pointer, item.key()), "unknown member",
               near.empty() ? fmt::format("known are {}", fmt::join(names, ", "))
                            : fmt::format("did you mean {}", near));
        return false;
    }
    return true;
}

bool MachineReader::is_list(const Json& value, const std::string& pointer) {
    if (!value.is_array())
        refuse(pointer, "expected a list");
    return value.is_array();
}

const Json* MachineReader::member(const Json& object, const std::string& pointer,
                                  std::string_view name, bool optional) {
    const auto found = object.find(std::string{name});
    if (found != object.end())
        return &*found;
    if (!optional)
        refuse(fmt::format("{}/{}", pointer, name), "missing");
    return nullptr;
}

std::string MachineReader::text(const Json* value, const std::string& pointer) {
    if (value == nullptr)
        return {};
    if (!value->is_string()) {
        refuse(pointer, "expected a text");
        return {};
    }
    return value->get<std::string>();
}

std::uint64_t MachineReader::count(const Json* value, const std::string& pointer,
                                   std::uint64_t largest) {
    if (value == nullptr)
        return 0;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > largest) {
        refuse(pointer, fmt::format("expected a whole number from 0 to {}", largest));
        return 0;
    }
    return value->get<std::uint64_t>();
}

Bytes MachineReader::bytes(const Json* value, const std::string& pointer) {
    if (value == nullptr)
        return 0;
    if (value->is_number_unsigned())
        return value->get<std::uint64_t>();
    if (!value->is_string()) {
        refuse(pointer, "expected bytes: a whole number, or a text like \"80GiB\"");
        return 0;
    }
    const Result<Bytes> size = parse_bytes(value->get_ref<const std::string&>());
    if (!size)
        refuse(pointer, size.error().what, size.error().hint);
    return size.value_or(0);
}

double MachineReader::bandwidth(const Json* value, const std::string& pointer) {
    if (value == nullptr)
        return 0;
    if (value->is_number())
        return value->get<double>();
    std::string size_text = text(value, pointer);
    if (!size_text.ends_with("/s")) {
        refuse(pointer, "expected a bandwidth: bytes per second, or a text like \"55.4GB/s\"");
        return 0;
    }
    size_text.resize(size_text.size() - 2);
    const Result<Bytes> size = parse_bytes(size_text);
    if (!size)
        refuse(pointer, size.error().what, size.error().hint);
    return static_cast<double>(size.value_or(0));
}

double MachineReader::threshold_of_bytes(Bytes value, const std::string& pointer, Bytes capacity) {
    if (value == 0 || value > capacity || capacity > kLargestSpace) {
        refuse(pointer, fmt::format("{} bytes are not above 0 and within the capacity, {}", value,
                                    capacity));
        return 0;
    }
    return fraction_of_bytes(value, capacity);
}

double MachineReader::threshold_of_text(const std::string& value, const std::string& pointer,
                                        Bytes capacity) {
    if (!value.ends_with('%')) {
        const Result<Bytes> size = parse_bytes(value);
        if (!size)
            refuse(pointer, size.error().what, size.error().hint);
        return size ? threshold_of_bytes(*size, pointer, capacity) : 0;
    }
    const std::string number = value.substr(0, value.size() - 1) + "e-2";
    double fraction = 0;
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, fraction);
    if (error != std::errc() || stop != end)
        refuse(pointer, fmt::format("'{}' is no percentage", value));
    return fraction;
}

double MachineReader::threshold(const Json& value, const std::string& pointer, Bytes capacity) {
    if (value.is_string())
        return threshold_of_text(value.get_ref<const std::string&>(), pointer, capacity);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > 1)
        return threshold_of_bytes(value.get<std::uint64_t>(), pointer, capacity);
    if (value.is_number() && value.get<double>() <= 1)
        return value.get<double>();
    refuse(pointer, "expected a fraction of the capacity up to 1, or bytes",
           "write 0.85, \"85%\" or \"6GiB\"");
    return 0;
}

SpaceId MachineReader::space_id(const Json* value, const std::string& pointer) {
    const Result<SpaceId> id = parse_space_id(text(value, pointer));
    if (!id)
        refuse(pointer, id.error().what, id.error().hint);
    return id.value_or(SpaceId{});
}

Names space_members(Tier tier) {
    Names names{std::begin(kEverySpace), std::end(kEverySpace)};
    if (tier == Tier::host)
        names.insert(names.end(), std::begin(kHostSpace), std::end(kHostSpace));
    if (tier == Tier::disk)
        names.insert(names.end(), std::begin(kDiskSpace), std::end(kDiskSpace));
    return names;
}

void read_host(MachineReader& reader, const Json& object, const std::string& at, SpaceSpec& space) {
    if (const Json* block = reader.member(object, at, "block", true))
        space.block = reader.bytes(block, at + "/block");
    constexpr std::uint64_t kMost = 1'000'000'000;
    if (const Json* blocks = reader.member(object, at, "blocks_per_pool", true))
        space.blocks_per_pool =
            static_cast<std::uint32_t>(reader.count(blocks, at + "/blocks_per_pool", kMost));
    if (const Json* pools = reader.member(object, at, "initial_pools", true))
        space.initial_pools =
            static_cast<std::uint32_t>(reader.count(pools, at + "/initial_pools", kMost));
}

void read_directories(MachineReader& reader, const Json& object, const std::string& at,
                      SpaceSpec& space) {
    const Json* list = reader.member(object, at, "directories", true);
    if (list == nullptr || !reader.is_list(*list, at + "/directories"))
        return;
    for (const Json& item : *list)
        space.directories.push_back(
            reader.text(&item, fmt::format("{}/directories/{}", at, space.directories.size())));
}

SpaceSpec read_space(MachineReader& reader, const Json& object, const std::string& at) {
    SpaceSpec space;
    if (!object.is_object()) {
        reader.refuse(at, "expected an object");
        return space;
    }
    space.id = reader.space_id(reader.member(object, at, "id"), at + "/id");
    if (reader.fault() || !reader.is_object(object, at, space_members(space.id.tier)))
        return space;
    space.capacity = reader.bytes(reader.member(object, at, "capacity"), at + "/capacity");
    if (const Json* granularity = reader.member(object, at, "granularity", true))
        space.granularity = reader.bytes(granularity, at + "/granularity");
    const std::pair<std::string_view, double*> thresholds[] = {
        {"reservation_limit", &space.reservation_limit},
        {"spill_start", &space.spill_start},
        {"spill_stop", &space.spill_stop}};
    for (const auto& [name, target] : thresholds) {
        if (const Json* value = reader.member(object, at, name, true))
            *target = reader.threshold(*value, fmt::format("{}/{}", at, name), space.capacity);
    }
    read_host(reader, object, at, space);
    read_directories(reader, object, at, space);
    return space;
}

LinkSpec read_link(MachineReader& reader, const Json& object, const std::string& at) {
    LinkSpec link;
    constexpr std::uint64_t kLongest = 1'000'000'000'000'000;
    if (!reader.is_object(object, at,
                          {"source", "target", "bytes_per_second", "overhead", "latency", "bus"}))
        return link;
    link.source = reader.space_id(reader.member(object, at, "source"), at + "/source");
    link.target = reader.space_id(reader.member(object, at, "target"), at + "/target");
    link.bytes_per_second =
        reader.bandwidth(reader.member(object, at, "bytes_per_second"), at + "/bytes_per_second");
    link.overhead = static_cast<Nanoseconds>(
        reader.count(reader.member(object, at, "overhead", true), at + "/overhead", kLongest));
    link.latency = static_cast<Nanoseconds>(
        reader.count(reader.member(object, at, "latency", true), at + "/latency", kLongest));
    link.bus = reader.text(reader.member(object, at, "bus", true), at + "/bus");
    return link;
}

BusSpec read_bus(MachineReader& reader, const Json& object, const std::string& at) {
    BusSpec bus;
    if (!reader.is_object(object, at, {"name", "bytes_per_second"}))
        return bus;
    bus.name = reader.text(reader.member(object, at, "name"), at + "/name");
    bus.bytes_per_second =
        reader.bandwidth(reader.member(object, at, "bytes_per_second"), at + "/bytes_per_second");
    return bus;
}

// Fills `target` with what `read` makes of each element of the list `name`.
template <class T>
void read_list(MachineReader& reader, const Json& root, std::string_view name,
               std::vector<T>& target, T (*read)(MachineReader&, const Json&, const std::string&)) {
    const Json* list = reader.member(root, "", name, name == "buses");
    if (list == nullptr || !reader.is_list(*list, fmt::format("/{}", name)))
        return;
    for (const Json& item : *list) {
        if (reader.fault())
            return;
        target.push_back(read(reader, item, fmt::format("/{}/{}", name, target.size())));
    }
}

void read_derived(MachineReader& reader, const Json& root, DescribedMachine& described) {
    const Json* derived = reader.member(root, "", "derived", true);
    if (derived == nullptr)
        return;
    if (!derived->is_object())
        return reader.refuse("/derived", "expected an object");
    for (const auto& item : derived->items())
        described.derived.emplace_back(item.key(),
                                       reader.text(&item.value(), "/derived/" + item.key()));
}

void read_machine(MachineReader& reader, const Json& root, DescribedMachine& described) {
    if (!reader.is_object(root, "",
                          {"format", "version", "name", "spaces", "links", "buses", "derived"}))
        return;
    if (reader.text(reader.member(root, "", "format"), "/format") != kMachineJsonFormat)
        reader.refuse("/format", fmt::format("expected \"{}\"", kMachineJsonFormat));
    if (reader.count(reader.member(root, "", "version"), "/version", kMachineJsonVersion) !=
        kMachineJsonVersion)
        reader.refuse("/version", fmt::format("expected {}", kMachineJsonVersion));
    MachineSpec& machine = described.machine;
    machine.name = reader.text(reader.member(root, "", "name"), "/name");
    if (machine.name.empty())
        reader.refuse("/name", "expected a name");
    read_list(reader, root, "spaces", machine.spaces, read_space);
    read_list(reader, root, "links", machine.links, read_link);
    read_list(reader, root, "buses", machine.buses, read_bus);
    read_derived(reader, root, described);
}

// The text as a value. A member that is there twice is a fault: which of the two was meant?
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
        return fail(ErrorCode::bad_input, "a number is beyond what numbers can be",
                    std::string{where});
    }
}

Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    text.resize(kMachineJsonLargestFile + 1);
    if (file)
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file && !file.eof())
        return fail(ErrorCode::io, "cannot be read", path);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMachineJsonLargestFile)
        return fail(ErrorCode::bad_input, "larger than 1 MiB: no machine description", path);
    return text;
}

}  // namespace

Result<DescribedMachine> parse_machine(std::string_view json, std::string_view where) {
    TM_ASSIGN(const Json root, parse_json(json, where));
    MachineReader reader(where);
    DescribedMachine described;
    read_machine(reader, root, described);
    if (reader.fault())
        return tl::make_unexpected(*reader.fault());
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
    if (path.empty() || !std::ifstream(path).good()) {
        const std::vector<std::string_view> names = machine_names();
        const std::string_view near = nearest(path, names);
        return fail(ErrorCode::not_found, "no machine or file of that name", path,
                    near.empty() ? fmt::format("known machines: {}", fmt::join(names, " "))
                                 : fmt::format("did you mean {}", near));
    }
    TM_ASSIGN(const std::string text, read_file(path));
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
