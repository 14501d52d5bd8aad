// Turns dicts into records: which keys there are and what they set.
#include "traces/readers/torch_records.h"

#include <algorithm>
#include <array>

namespace tidemark::torch {
namespace {

constexpr std::uint32_t kIndexMax = (1U << 29U) - 1;
constexpr std::uint32_t kEmptyString = 0;  // StringTable's index of ""

struct KeyName {
    std::string_view name;
    Key key;
};

constexpr std::array kTorchRecordsKeyNames = {
    KeyName{"action", Key::action},
    KeyName{"addr", Key::addr},
    KeyName{"address", Key::address},
    KeyName{"allocator_settings", Key::allocator_settings},
    KeyName{"blocks", Key::blocks},
    KeyName{"compile_context", Key::compile_context},
    KeyName{"device", Key::device},
    KeyName{"device_free", Key::device_free},
    KeyName{"device_traces", Key::device_traces},
    KeyName{"external_annotations", Key::external_annotations},
    KeyName{"filename", Key::filename},
    KeyName{"frames", Key::frames},
    KeyName{"history", Key::history},
    KeyName{"host_segments", Key::host_segments},
    KeyName{"host_traces", Key::host_traces},
    KeyName{"is_expandable", Key::is_expandable},
    KeyName{"line", Key::line},
    KeyName{"name", Key::name},
    KeyName{"pool_id", Key::pool_id},
    KeyName{"real_size", Key::real_size},
    KeyName{"requested_size", Key::requested_size},
    KeyName{"segment_pool_id", Key::segment_pool_id},
    KeyName{"segment_type", Key::segment_type},
    KeyName{"size", Key::size},
    KeyName{"stage", Key::stage},
    KeyName{"state", Key::state},
    KeyName{"stream", Key::stream},
    KeyName{"time_us", Key::time_us},
    KeyName{"total_size", Key::total_size},
    KeyName{"user_metadata", Key::user_metadata},
};

static_assert(static_cast<std::size_t>(Key::count) <= 64);

Key find_key(std::string_view name) {
    const auto* found =
        std::lower_bound(kTorchRecordsKeyNames.begin(), kTorchRecordsKeyNames.end(), name,
                         [](const KeyName& a, std::string_view b) { return a.name < b; });
    return found != kTorchRecordsKeyNames.end() && found->name == name ? found->key : Key::none;
}

struct ActionName {
    std::string_view name;
    Action action;
};

constexpr std::array kActionNames = {
    ActionName{"alloc", Action::alloc},
    ActionName{"free_requested", Action::free_requested},
    ActionName{"free_completed", Action::free_completed},
    ActionName{"free", Action::free},
    ActionName{"segment_alloc", Action::segment_alloc},
    ActionName{"segment_free", Action::segment_free},
    ActionName{"segment_map", Action::segment_map},
    ActionName{"segment_unmap", Action::segment_unmap},
    ActionName{"oom", Action::oom},
    ActionName{"snapshot", Action::snapshot},
    ActionName{"workspace_snapshot", Action::snapshot},
    ActionName{"user_defined", Action::mark},
    ActionName{"annotate", Action::mark},
};

Action find_action(std::string_view name) {
    for (const ActionName& known : kActionNames) {
        if (known.name == name)
            return known.action;
    }
    return Action::unknown;
}

Records::Kind kind_by(Key key) {
    switch (key) {
        case Key::action:
            return Records::Kind::entry;
        case Key::total_size:
        case Key::blocks:
            return Records::Kind::segment;
        case Key::state:
            return Records::Kind::block;
        case Key::filename:
            return Records::Kind::frame;
        case Key::stage:
            return Records::Kind::annotation;
        case Key::real_size:
            return Records::Kind::past;
        default:
            return Records::Kind::plain;
    }
}

}  // namespace

Records::Records(PickleObjects& objects) : objects_(objects), seen_(8) {
    contexts.push_back({});
    context_index_.emplace(Context{}, 0);
    stream_index_.insert(0, 0);
}

inline Key Records::key_of(Value key) {
    if (!key.is(Value::Kind::string))
        return Key::none;
    while (keys_.size() <= key.index())
        [[unlikely]] keys_.push_back(static_cast<std::uint8_t>(
            find_key(objects_.strings[static_cast<std::uint32_t>(keys_.size())])));
    return static_cast<Key>(keys_[key.index()]);
}

// A dict of dicts is not a record, whatever its keys: somebody stored a snapshot next to other
// data.
inline Records::Kind Records::kind_of(std::span<const Value> pairs) {
    Kind kind = Kind::plain;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        if (pairs[i + 1].is(Value::Kind::dict))
            return Kind::plain;
        if (kind == Kind::plain)
            kind = kind_by(key_of(pairs[i]));
    }
    return kind;
}

std::uint32_t Records::create(Kind kind) {
    const auto add = [](auto& records) {
        records.push_back({});
        return records.size() - 1;
    };
    std::size_t index = 0;
    switch (kind) {
        case Kind::empty:
            break;
        case Kind::plain:
            plain_lists_.push_back(objects_.lists.create());
            index = plain_lists_.size() - 1;
            break;
        case Kind::entry:
            index = add(entries);
            break;
        case Kind::segment:
            index = add(segments);
            break;
        case Kind::block:
            index = add(blocks);
            break;
        case Kind::frame:
            index = add(frames);
            break;
        case Kind::annotation:
            index = add(annotations);
            break;
        case Kind::past:
            index = add(real_sizes);
            break;
    }
    overflown_ = overflown_ || index > kIndexMax;
    return static_cast<std::uint32_t>(std::min<std::size_t>(index, kIndexMax));
}

void Records::set_items(std::uint32_t dict, std::span<const Value> pairs, std::uint64_t shape) {
    if (shape != 0 && shape == entry_shape_.shape && dict == refs_.size() &&
        add_shaped_entry(pairs)) [[likely]]
        return;
    if (dict >= refs_.size())
        refs_.resize(std::size_t{dict} + 1, 0);
    Ref known{static_cast<Kind>(refs_[dict] & 7U), refs_[dict] >> 3U};
    if (known.kind == Kind::empty || known.kind == Kind::plain) {
        const Kind kind = kind_of(pairs);
        if (kind == Kind::plain)
            return keep_plain(dict, known, pairs);
        const Ref plain = known;
        known = {kind, create(kind)};
        refs_[dict] = known.index << 3U | static_cast<std::uint32_t>(kind);
        if (plain.kind == Kind::plain) {
            std::vector<Value> before;
            objects_.lists.for_each(plain_lists_[plain.index],
                                    [&before](Value value) { before.push_back(value); });
            set_record(known, before);
        }
    }
    set_record(known, pairs);
    if (shape != 0 && known.kind == Kind::entry)
        learn_shape(shape, pairs, entries[known.index]);
}

// Remembers where entries of this shape have their fields, if they have everything that an entry
// needs.
void Records::learn_shape(std::uint64_t shape, std::span<const Value> pairs, const Entry& entry) {
    EntryShape learned;
    constexpr std::array kFields = {Key::action, Key::addr, Key::size, Key::time_us};
    std::size_t found = 0;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const Key key = key_of(pairs[i]);
        const auto* field = std::find(kFields.begin(), kFields.end(), key);
        if (field != kFields.end()) {
            learned.fields[static_cast<std::size_t>(field - kFields.begin())] = i + 1;
            ++found;
        } else if (learned.other_count == learned.others.size() || key == Key::device_free) {
            return;
        } else {
            learned.last_others[learned.other_count] = pairs[i + 1];
            learned.others[learned.other_count++] = i + 1;
        }
    }
    if (found != kFields.size() || !entry.has(Entry::kHasAddress | Entry::kHasSize))
        return;
    learned.shape = shape;
    learned.context = entry.context;
    entry_shape_ = learned;
}

// A new entry of the learned shape. False: some value is unusual, and nothing was done.
bool Records::add_shaped_entry(std::span<const Value> pairs) {
    EntryShape& known = entry_shape_;
    const Value action = pairs[known.fields[0]];
    const Value address = pairs[known.fields[1]];
    const Value size = pairs[known.fields[2]];
    const Value time = pairs[known.fields[3]];
    const auto is_number = [](Value value) {
        return value.is(Value::Kind::integer) && value.number() >= 0;
    };
    if (!is_number(address) || !is_number(size) || !is_number(time) || entries.size() > kIndexMax)
        [[unlikely]]
        return false;
    for (std::size_t i = 0; i < known.other_count; ++i) {
        if (pairs[known.others[i]] != known.last_others[i]) [[unlikely]]
            return false;
    }
    Entry entry;
    entry.address = address.payload();
    entry.size = size.payload();
    entry.set_time_us(time.payload());
    entry.set_action(action_of(action));
    entry.set(Entry::kHasAddress | Entry::kHasSize);
    entry.context = known.context;
    refs_.push_back(static_cast<std::uint32_t>(entries.size()) << 3U |
                    static_cast<std::uint32_t>(Kind::entry));
    entries.push_back(entry);
    return true;
}

void Records::keep_plain(std::uint32_t dict, Ref ref, std::span<const Value> pairs) {
    if (ref.kind == Kind::empty) {
        ref = {Kind::plain, create(Kind::plain)};
        refs_[dict] = ref.index << 3U | static_cast<std::uint32_t>(Kind::plain);
    }
    for (std::size_t i = 0; i < pairs.size(); i += 2)
        seen_[static_cast<std::size_t>(Kind::plain)] |= std::uint64_t{1}
                                                        << static_cast<unsigned>(key_of(pairs[i]));
    objects_.lists.append(plain_lists_[ref.index], pairs);
}

void Records::set_record(Ref ref, std::span<const Value> pairs) {
    if (ref.kind == Kind::entry)
        return set_entry(entries[ref.index], pairs);
    std::uint64_t& seen = seen_[static_cast<std::size_t>(ref.kind)];
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const Key key = key_of(pairs[i]);
        const Value value = pairs[i + 1];
        seen |= std::uint64_t{1} << static_cast<unsigned>(key);
        switch (ref.kind) {
            case Kind::segment:
                set_segment(segments[ref.index], key, value);
                break;
            case Kind::block:
                set_block(blocks[ref.index], key, value);
                break;
            case Kind::frame:
                set_frame(frames[ref.index], key, value);
                break;
            case Kind::annotation:
                set_annotation(annotations[ref.index], key, value);
                break;
            case Kind::past:
                if (key == Key::real_size)
                    real_sizes[ref.index] = number(value);
                break;
            default:
                break;
        }
    }
}

void Records::set_entry(Entry& entry, std::span<const Value> pairs) {
    Context context = contexts[entry.context];
    std::uint64_t seen = 0;
    std::uint64_t whole = 0;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const Key key = key_of(pairs[i]);
        const Value value = pairs[i + 1];
        seen |= std::uint64_t{1} << static_cast<unsigned>(key);
        switch (key) {
            case Key::action:
                entry.set_action(action_of(value));
                break;
            case Key::addr:
                if (objects_.whole_number(value, entry.address))
                    entry.set(Entry::kHasAddress);
                break;
            case Key::size:
                if (objects_.whole_number(value, entry.size))
                    entry.set(Entry::kHasSize);
                break;
            case Key::time_us:
                if (objects_.whole_number(value, whole))
                    entry.set_time_us(whole);
                break;
            case Key::stream:
                context.stream = stream_of(value);
                break;
            default:
                set_entry_rare(entry, context, key, value);
        }
    }
    seen_[static_cast<std::size_t>(Kind::entry)] |= seen;
    entry.context = context_index(context);
}

inline void Records::set_entry_rare(Entry& entry, Context& context, Key key, Value value) {
    switch (key) {
        case Key::compile_context:
            context.compile = objects_.text(value) == "N/A" ? kNone : string_of(value);
            break;
        case Key::user_metadata:
            context.metadata = string_of(value);
            break;
        case Key::frames:
            context.frames = list_of(value);
            break;
        case Key::pool_id:
            context.pool = pool_of(value);
            context.has_pool = 1;
            break;
        case Key::device_free:
            if (objects_.whole_number(value, entry.address))
                entry.set(Entry::kHasAddress);
            break;
        default:
            break;
    }
}

void Records::set_segment(Segment& segment, Key key, Value value) {
    switch (key) {
        case Key::address:
            segment.has_address = objects_.whole_number(value, segment.address);
            break;
        case Key::total_size:
            segment.size = number(value);
            break;
        case Key::device:
            segment.device = small_number(value);
            break;
        case Key::stream:
            segment.stream = stream_of(value);
            break;
        case Key::segment_type:
            segment.small = objects_.text(value) == "small";
            break;
        case Key::segment_pool_id:
            segment.pool = pool_of(value);
            break;
        case Key::is_expandable:
            segment.expandable = number(value) != 0;
            break;
        case Key::blocks:
            segment.blocks = list_of(value);
            break;
        default:
            break;
    }
}

void Records::set_block(Block& block, Key key, Value value) {
    switch (key) {
        case Key::address:
            block.has_address = objects_.whole_number(value, block.address);
            break;
        case Key::size:
            block.size = number(value);
            break;
        case Key::requested_size:
            block.has_requested = objects_.whole_number(value, block.requested);
            break;
        case Key::state: {
            const std::string_view state = objects_.text(value);
            block.state = state == "active_allocated" ? BlockState::allocated
                          : state == "inactive" || !state.starts_with("active_")
                              ? BlockState::inactive
                              : BlockState::pending;
            break;
        }
        case Key::frames:
            block.frames = list_of(value);
            break;
        case Key::history:
            block.history = list_of(value);
            break;
        default:
            break;
    }
}

void Records::set_frame(FrameRecord& frame, Key key, Value value) {
    if (key == Key::name)
        frame.name = string_of(value);
    else if (key == Key::filename)
        frame.file = string_of(value);
    else if (key == Key::line)
        frame.line = small_number(value);
}

void Records::set_annotation(Annotation& annotation, Key key, Value value) {
    if (key == Key::name) {
        annotation.name = string_of(value);
    } else if (key == Key::device) {
        annotation.device = small_number(value);
    } else if (key == Key::time_us) {
        annotation.time_us = std::min(number(value), Entry::kLatest);
    } else if (key == Key::stage) {
        annotation.begins = objects_.text(value) == "START";
        annotation.ends = objects_.text(value) == "END";
    }
}

std::uint64_t Records::number(Value value) const {
    std::uint64_t number = 0;
    return objects_.whole_number(value, number) ? number : 0;
}

std::uint32_t Records::small_number(Value value) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number(value), kNone));
}

inline Action Records::action_of(Value value) {
    if (!value.is(Value::Kind::string))
        return Action::unknown;
    while (actions_.size() <= value.index())
        [[unlikely]] actions_.push_back(static_cast<std::uint8_t>(
            find_action(objects_.strings[static_cast<std::uint32_t>(actions_.size())])));
    return static_cast<Action>(actions_[value.index()]);
}

inline std::uint32_t Records::stream_of(Value value) {
    const std::uint64_t handle =
        value.is(Value::Kind::integer) ? static_cast<std::uint64_t>(value.number()) : number(value);
    if (handle == last_handle_) [[likely]]
        return last_stream_;
    std::uint32_t stream = stream_index_.find(handle);
    if (stream == kNoSlot) {
        stream = static_cast<std::uint32_t>(streams.size());
        streams.push_back(handle);
        stream_index_.insert(handle, stream);
    }
    last_handle_ = handle;
    return last_stream_ = stream;
}

std::uint32_t Records::pool_of(Value value) {
    std::pair<std::uint32_t, std::uint32_t> id{0, 0};
    if (value.is(Value::Kind::pair)) {
        id = {value.index() >> 14U, value.index() & ((1U << 14U) - 1)};
    } else if (value.is(Value::Kind::list) && objects_.lists.size(value.index()) == 2) {
        bool first = true;
        objects_.lists.for_each(value.index(), [&](Value part) {
            (first ? id.first : id.second) = small_number(part);
            first = false;
        });
    }
    const auto [found, added] = pool_index_.emplace(id, static_cast<std::uint32_t>(pools.size()));
    if (added)
        pools.push_back(id);
    return found->second;
}

std::size_t Records::ContextHash::operator()(const Context& context) const {
    std::uint64_t hash = context.stream;
    for (const std::uint32_t part :
         {context.frames, context.compile, context.metadata, context.pool * 2 + context.has_pool})
        hash = (hash ^ part) * 0x9e3779b97f4a7c15U ^ hash >> 29U;
    return static_cast<std::size_t>(hash ^ hash >> 32U);
}

inline std::uint32_t Records::context_index(const Context& context) {
    if (contexts[last_context_] == context) [[likely]]
        return last_context_;
    const auto [found, added] =
        context_index_.emplace(context, static_cast<std::uint32_t>(contexts.size()));
    if (added)
        contexts.push_back(context);
    return last_context_ = found->second;
}

std::uint32_t Records::with_pool(std::uint32_t context, std::uint32_t pool) {
    Context changed = contexts[context];
    changed.pool = pool;
    return context_index(changed);
}

std::uint32_t Records::list_of(Value value) {
    return value.is(Value::Kind::list) ? value.index() : kNone;
}

std::uint32_t Records::string_of(Value value) {
    return value.is(Value::Kind::string) && value.index() != kEmptyString ? value.index() : kNone;
}

Records::Ref Records::ref(Value value) const {
    if (!value.is(Value::Kind::dict) || value.payload() >= refs_.size())
        return {};
    const std::uint32_t packed = refs_[value.index()];
    return {static_cast<Kind>(packed & 7U), packed >> 3U};
}

}  // namespace tidemark::torch
