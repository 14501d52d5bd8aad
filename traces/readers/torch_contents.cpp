// From records to contents.
#include "traces/readers/torch_contents.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tidemark::torch {
namespace {

using Kind = Records::Kind;

constexpr std::size_t kDevicesMax = 4096;
constexpr std::size_t kSettingTextMax = 4096;
constexpr std::uint32_t kSettingsMax = 1024;  // real ones have a dozen, and lists of 16

const char* const kNotASnapshot = "a pickle, but not of a PyTorch memory snapshot";
const char* const kHowToRecord = "write one with torch.cuda.memory._dump_snapshot(path)";

// Which version of PyTorch first wrote a key: found in the files of 2.0 to 2.11, and in the sources
// of later versions.
struct VersionKey {
    Kind kind;
    Key key;
    std::string_view since;
    std::string_view until;  // the last one before the next key; "" = unknown
};

constexpr std::array kVersionKeys{
    VersionKey{Kind::entry, Key::pool_id, "2.12", ""},
    VersionKey{Kind::plain, Key::host_segments, "2.12", ""},
    VersionKey{Kind::plain, Key::host_traces, "2.12", ""},
    VersionKey{Kind::entry, Key::user_metadata, "2.9", "2.11"},
    VersionKey{Kind::entry, Key::compile_context, "2.8", "2.8"},
    VersionKey{Kind::plain, Key::external_annotations, "2.7", "2.7"},
    VersionKey{Kind::plain, Key::allocator_settings, "2.2", "2.6"},
    VersionKey{Kind::segment, Key::is_expandable, "2.1", "2.1"},
    VersionKey{Kind::plain, Key::device_traces, "2.0", "2.0"},
};

// The value of a setting as text; dicts and lists one level deep.
class SettingText {
  public:
    explicit SettingText(const Records& records) : records_(records) {}

    std::string operator()(Value value) {
        text_.clear();
        add(value, true);
        return std::move(text_);
    }

  private:
    void add(Value value, bool nested) {
        const PickleObjects& objects = records_.objects();
        std::uint64_t number = 0;
        switch (value.kind()) {
            case Value::Kind::boolean:
                text_ += value.payload() != 0 ? "True" : "False";
                break;
            case Value::Kind::integer:
                text_ += fmt::format("{}", value.number());
                break;
            case Value::Kind::wide:
                number = objects.wides[value.index()].magnitude;
                text_ += objects.wides[value.index()].negative ? "-" : "";
                text_ += fmt::format("{}", number);
                break;
            case Value::Kind::real:
                text_ += fmt::format("{}", objects.reals[value.index()]);
                break;
            case Value::Kind::string:
                text_ += objects.text(value).substr(0, kSettingTextMax);
                break;
            case Value::Kind::dict:
                if (nested && records_.ref(value).kind == Kind::plain)
                    add_items(records_.ref(value).index);
                break;
            case Value::Kind::list:
                if (nested)
                    add_list(value.index());
                break;
            case Value::Kind::pair:
                text_ += fmt::format("({}, {})", value.payload() >> 14U,
                                     value.payload() & ((1U << 14U) - 1));
                break;
            default:
                text_ += "None";
        }
    }

    void add_items(std::uint32_t plain) {
        const char* separator = "";
        records_.for_each_item(plain, kSettingsMax, [&](std::string_view key, Value value) {
            if (text_.size() > kSettingTextMax)
                return;
            text_ += separator;
            text_ += key.substr(0, kSettingTextMax);
            text_ += ':';
            add(value, false);
            separator = ",";
        });
    }

    void add_list(std::uint32_t list) {
        const char* separator = "";
        const auto add_element = [&](Value value) {
            if (text_.size() > kSettingTextMax)
                return;
            text_ += separator;
            add(value, false);
            separator = ",";
        };
        records_.objects().lists.for_each(list, add_element, kSettingsMax);
    }

    const Records& records_;
    std::string text_;
};

class Resolver {
  public:
    Resolver(Records& records, const std::string& name) : records_(records), name_(name) {}

    Result<Contents> run(Value root) {
        TM_TRY(find_parts(root));
        TM_TRY(add_segments());
        TM_TRY(add_traces());
        leave_out_unused();
        TM_TRY(add_host());
        add_annotations();
        add_settings();
        std::size_t devices = contents_.traces.size();
        for (const FinalSegment& segment : contents_.segments)
            devices = std::max<std::size_t>(devices, std::size_t{segment.record.device} + 1);
        contents_.device_count = std::max<std::size_t>(devices, 1);
        contents_.traces.resize(contents_.device_count);
        contents_.source = source();
        return std::move(contents_);
    }

  private:
    // The four lists and dicts that make up a snapshot; in 1.13 it is only the list of segments.
    Result<void> find_parts(Value root) {
        const Records::Ref ref = records_.ref(root);
        if (root.is(Value::Kind::list) && records_.segments.size() != 0) {
            segments_ = root;
            return {};
        }
        if (ref.kind == Kind::plain) {
            records_.for_each_item(ref.index, kSettingsMax,
                                   [this](std::string_view key, Value value) {
                                       if (key == "segments")
                                           segments_ = value;
                                       else if (key == "device_traces")
                                           traces_ = value;
                                       else if (key == "host_segments")
                                           host_segments_ = value;
                                       else if (key == "host_traces")
                                           host_traces_ = value;
                                       else if (key == "external_annotations")
                                           annotations_ = value;
                                       else if (key == "allocator_settings")
                                           settings_ = value;
                                   });
        }
        if (!segments_.is(Value::Kind::list) && !traces_.is(Value::Kind::list))
            return fail(ErrorCode::bad_input, kNotASnapshot, name_, kHowToRecord);
        return {};
    }

    // visit(index) for each record of `kind` in a list. Each record of a kind is in one list only:
    // `left` is how many may still come. One more is let through, empty, as at the end of a cut-off
    // file.
    template <class Visit>
    bool for_each_record(std::uint32_t list, Kind kind, std::size_t& left, Visit visit) {
        const ListStore& lists = records_.objects().lists;
        const std::size_t size = lists.size(list);
        if (size > left + 1)
            return false;
        left -= std::min(left, size);
        lists.for_each(list, [&](Value value) {
            const Records::Ref ref = records_.ref(value);
            if (ref.kind == kind)
                visit(ref.index);
        });
        return true;
    }

    Result<void> shared(const char* what) const {
        return fail(
            ErrorCode::bad_input,
            fmt::format("several lists share the same {}, which doesn't happen in a snapshot",
                        what),
            name_, "the file is damaged or hostile: record it again");
    }

    Result<void> add_segments() {
        if (!segments_.is(Value::Kind::list))
            return {};
        std::size_t left = records_.segments.size();
        std::size_t blocks_left = records_.blocks.size();
        bool good = true;
        const bool whole =
            for_each_record(segments_.index(), Kind::segment, left, [&](std::uint32_t index) {
                good = good && add_segment(records_.segments[index], blocks_left);
            });
        if (!whole || !good)
            return shared(whole ? "blocks" : "segments");
        std::stable_sort(contents_.segments.begin(), contents_.segments.end(),
                         [](const FinalSegment& a, const FinalSegment& b) {
                             return a.record.device != b.record.device
                                        ? a.record.device < b.record.device
                                        : a.record.address < b.record.address;
                         });
        return {};
    }

    bool add_segment(const Segment& record, std::size_t& blocks_left) {
        if (!record.has_address || record.size == 0 || record.device >= kDevicesMax ||
            record.address + record.size < record.address) {
            ++contents_.malformed_segments;
            return true;
        }
        FinalSegment segment{record, contents_.blocks.size(), 0};
        std::uint64_t next = record.address;
        const auto add = [&](std::uint32_t index) {
            Block block = records_.blocks[index];
            if (!block.has_address)
                block.address = next;
            if (!block.has_requested)
                block.requested = requested_before_2_1(block);
            const bool fits = block.address >= record.address && block.size <= record.size &&
                              block.address - record.address <= record.size - block.size;
            if (!fits || block.size == 0) {
                ++contents_.malformed_segments;
                return;
            }
            next = block.address + block.size;
            contents_.blocks.push_back(block);
        };
        const bool whole =
            record.blocks == kNone || for_each_record(record.blocks, Kind::block, blocks_left, add);
        segment.block_count = contents_.blocks.size() - segment.first_block;
        std::stable_sort(contents_.blocks.end() - static_cast<std::ptrdiff_t>(segment.block_count),
                         contents_.blocks.end(),
                         [](const Block& a, const Block& b) { return a.address < b.address; });
        contents_.segments.push_back(segment);
        return whole;
    }

    std::uint64_t requested_before_2_1(const Block& block) const {
        std::uint64_t requested = block.size;
        const auto take = [&](Value value) {
            const Records::Ref ref = records_.ref(value);
            if (ref.kind == Kind::past)
                requested = std::min(records_.real_sizes[ref.index], block.size);
        };
        if (block.history != kNone)
            records_.objects().lists.for_each(block.history, take, 1);
        return requested;
    }

    Result<void> add_traces() {
        if (!traces_.is(Value::Kind::list))
            return {};
        const ListStore& lists = records_.objects().lists;
        if (lists.size(traces_.index()) > kDevicesMax)
            return fail(ErrorCode::bad_input,
                        fmt::format("traces of {} devices", lists.size(traces_.index())), name_,
                        "the file is damaged: record it again");
        std::vector<std::uint32_t> devices;
        lists.for_each(traces_.index(), [&](Value value) {
            devices.push_back(value.is(Value::Kind::list) ? value.index() : kNone);
        });
        std::size_t left = records_.entries.size();
        std::vector<Stretch> stretches(devices.size());
        for (std::size_t device = 0; device < devices.size(); ++device) {
            if (devices[device] != kNone && !find_trace(devices[device], left, stretches[device]))
                return shared("trace entries");
        }
        for (const Stretch& stretch : stretches)
            contents_.traces.push_back((stretch.moved ? contents_.moved : records_.entries)
                                           .view(stretch.first, stretch.count));
        std::erase_if(stretches, [](const Stretch& stretch) { return stretch.count == 0; });
        std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
            return a.moved != b.moved ? a.moved : a.first < b.first;
        });
        for (std::size_t i = 1; i < stretches.size(); ++i) {
            if (stretches[i - 1].moved == stretches[i].moved &&
                stretches[i - 1].first + stretches[i - 1].count > stretches[i].first)
                return shared("trace entries");
        }
        return {};
    }

    // Where the entries of a trace are: usually in the order of the file; copied otherwise.
    struct Stretch {
        std::size_t first = 0;
        std::size_t count = 0;
        bool moved = false;
    };

    bool find_trace(std::uint32_t list, std::size_t& left, Stretch& stretch) {
        bool in_order = true;
        const bool whole = for_each_record(list, Kind::entry, left, [&](std::uint32_t index) {
            stretch.first = stretch.count == 0 ? index : stretch.first;
            in_order = in_order && index == stretch.first + stretch.count;
            ++stretch.count;
        });
        if (in_order || !whole)
            return whole;
        stretch.first = contents_.moved.size();
        stretch.moved = true;
        records_.objects().lists.for_each(list, [&](Value value) {
            const Records::Ref ref = records_.ref(value);
            if (ref.kind == Kind::entry)
                contents_.moved.push_back(records_.entries[ref.index]);
        });
        return true;
    }

    // A snapshot has a list for each GPU of its host; the empty ones after the last used GPU are
    // dropped.
    void leave_out_unused() {
        std::size_t used = 1;
        for (const FinalSegment& segment : contents_.segments)
            used = std::max<std::size_t>(used, std::size_t{segment.record.device} + 1);
        for (std::size_t i = used; i < contents_.traces.size(); ++i)
            used = contents_.traces[i].empty() ? used : i + 1;
        if (contents_.traces.size() > used)
            contents_.traces.resize(used);
    }

    // Pinned memory of the host (since 2.12): a device behind the GPUs. Its trace is one list of
    // entries, or a list of such lists.
    Result<void> add_host() {
        const ListStore& lists = records_.objects().lists;
        const auto has_items = [&](Value list) {
            return list.is(Value::Kind::list) && lists.size(list.index()) != 0;
        };
        if (!has_items(host_segments_) && !has_items(host_traces_))
            return {};
        std::size_t host = contents_.traces.size();
        for (const FinalSegment& segment : contents_.segments)
            host = std::max<std::size_t>(host, std::size_t{segment.record.device} + 1);
        contents_.traces.resize(host + 1);
        contents_.has_host = true;
        if (has_items(host_traces_)) {
            Value trace = host_traces_;
            lists.for_each(
                trace.index(), [&](Value first) { trace = has_items(first) ? first : trace; }, 1);
            std::size_t left = records_.entries.size();
            Stretch stretch;
            if (!find_trace(trace.index(), left, stretch))
                return shared("trace entries");
            contents_.traces[host] = (stretch.moved ? contents_.moved : records_.entries)
                                         .view(stretch.first, stretch.count);
        }
        if (!has_items(host_segments_))
            return {};
        std::size_t left = records_.segments.size();
        std::size_t blocks_left = records_.blocks.size();
        bool good = true;
        const bool whole =
            for_each_record(host_segments_.index(), Kind::segment, left, [&](std::uint32_t index) {
                Segment segment = records_.segments[index];
                segment.device = static_cast<std::uint32_t>(host);
                good = good && add_segment(segment, blocks_left);
            });
        return whole && good ? Result<void>() : shared("host_segments");
    }

    void add_annotations() {
        if (!annotations_.is(Value::Kind::list))
            return;
        std::size_t left = records_.annotations.size();
        const auto add = [this](std::uint32_t index) {
            contents_.annotations.push_back(records_.annotations[index]);
        };
        for_each_record(annotations_.index(), Kind::annotation, left, add);
    }

    void add_settings() {
        const Records::Ref ref = records_.ref(settings_);
        if (ref.kind != Kind::plain)
            return;
        SettingText text(records_);
        records_.for_each_item(ref.index, kSettingsMax, [&](std::string_view key, Value value) {
            contents_.settings.emplace_back(key.substr(0, kSettingTextMax), text(value));
        });
    }

    // The versions that write such keys. Without entries only the oldest of them is known.
    std::string source() const {
        const auto* const found = std::ranges::find_if(
            kVersionKeys,
            [this](const VersionKey& each) { return records_.seen(each.kind, each.key); });
        if (found == kVersionKeys.end())
            return "torch 1.13" + accelerator();
        const bool has_entries = records_.entries.size() != 0;
        std::string text = fmt::format("torch {}", found->since);
        if (found->until.empty() || !has_entries)
            text += " or newer";
        else if (found->until != found->since)
            text += fmt::format(" to {}", found->until);
        return text + accelerator();
    }

    // What PyTorch was built for, if a call stack names its libraries; "" = CUDA, or unknown.
    std::string accelerator() const {
        const StringTable& strings = records_.objects().strings;
        for (std::uint32_t i = 0; i < strings.size(); ++i) {
            const std::string_view text = strings[i];
            if (text.find("c10::hip") != text.npos || text.find("HIPCachingAllocator") != text.npos)
                return " on ROCm";
            if (text.find("c10::xpu") != text.npos || text.find("XPUCachingAllocator") != text.npos)
                return " on XPU";
        }
        return {};
    }

    Records& records_;
    const std::string& name_;
    Contents contents_;
    Value segments_;
    Value traces_;
    Value host_segments_;
    Value host_traces_;
    Value annotations_;
    Value settings_;
};

}  // namespace

Result<Contents> resolve(Records& records, Value root, const std::string& name) {
    return Resolver(records, name).run(root);
}

}  // namespace tidemark::torch
