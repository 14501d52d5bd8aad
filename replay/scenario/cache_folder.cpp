// cache_folder: a folder of folders. Their names and times are enough here.
#include "replay/scenario/cache_folder.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/text.h"
#include "replay/scenario/kept_file.h"
#include "replay/timeline/history_columns.h"

namespace tidemark {
namespace {

constexpr std::string_view kDraft = "draft-";
constexpr std::size_t kNameDigits = 16;
constexpr std::size_t kRandomDigits = 8;
constexpr std::size_t kMostPasswd = 16384;  // bytes of an entry of the system's users
constexpr Bytes kSpare = Bytes{16} << 20U;  // left free on the disk
constexpr Bytes kDefaultLimit = Bytes{10} << 30U;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Root may run with the HOME of another user, in whose folders it shouldn't leave its own.
bool is_own_folder(const std::string& path) {
    struct stat status {};

    return path.starts_with('/') && ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == ::geteuid();
}

std::string home_of_user() {
    std::vector<char> buffer(kMostPasswd);
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
        found == nullptr || found->pw_dir == nullptr)
        return {};
    return found->pw_dir;
}

bool is_digits(std::string_view text, std::size_t count) {
    return text.size() == count &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_draft(std::string_view name) {
    return name.starts_with(kDraft) && name.size() > kDraft.size() + kNameDigits &&
           is_digits(name.substr(kDraft.size(), kNameDigits), kNameDigits) &&
           name[kDraft.size() + kNameDigits] == '-' &&
           is_digits(name.substr(kDraft.size() + kNameDigits + 1), kRandomDigits);
}

// Of the files of an entry. A column's name stays known when a later format has it no more.
bool is_our_file(std::string_view name) {
    static const std::set<std::string, std::less<>> names = [] {
        std::set<std::string, std::less<>> all{kHeadFile, "held", "held-nodes", "held-head"};
        History::Columns columns;
        static_cast<void>(columns.for_each([&all](const char* column, auto&, std::size_t) {
            all.insert(column);
            return Result<void>();
        }));
        return all;
    }();
    if (const std::size_t part = name.rfind(kPart);
        part != std::string_view::npos &&
        is_digits(name.substr(part + kPart.size()), kRandomDigits))
        name = name.substr(0, part);
    return names.contains(name);
}

Nanoseconds time_of(const struct stat& status) {
    return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::optional<CacheEntry> look_at(const OwnFolder& cache, const std::string& name) {
    const Result<OwnFolder> folder = cache.open_folder(name);
    if (!folder)
        return std::nullopt;
    const auto files = folder->names();
    if (!files)
        return std::nullopt;
    CacheEntry entry{.name = name, .is_draft = is_draft(name)};

    struct stat status {};

    for (const std::string& file : *files) {
        if (::fstatat(folder->descriptor(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            entry.bytes += static_cast<Bytes>(status.st_size);
    }
    if (::fstatat(folder->descriptor(), kHeadFile, &status, AT_SYMLINK_NOFOLLOW) == 0 ||
        ::fstat(folder->descriptor(), &status) == 0)
        entry.used = time_of(status);
    return entry;
}

// What the disk has free for this user.
Bytes free_bytes(const OwnFolder& cache) {
    struct statvfs disk {};

    if (::fstatvfs(cache.descriptor(), &disk) != 0)
        return ~Bytes{0} / 2;  // it shows when something is written
    return static_cast<Bytes>(disk.f_bavail) * disk.f_frsize;
}

// Deletes a draft, unless a process is working on it.
bool delete_draft(const OwnFolder& cache, const std::string& name) {
    const Result<OwnFolder> folder = cache.open_folder(name);
    return folder && lock_folder(*folder) && delete_entry(cache, name);
}

}  // namespace

Result<std::string> cache_folder() {
    if (std::string chosen = variable("XDG_CACHE_HOME"); chosen.starts_with('/'))
        return chosen + "/tidemark";
    for (const std::string& home : {variable("HOME"), home_of_user()}) {
        if (is_own_folder(home))
            return home + "/.cache/tidemark";
    }
    return fail(ErrorCode::not_found, "this user has no home folder for a cache", "HOME",
                "set XDG_CACHE_HOME to a folder");
}

Result<Bytes> cache_limit(const OwnFolder* cache, Bytes kept) {
    const std::string typed = variable(kCacheLimit);
    if (typed.empty())
        return cache == nullptr ? kDefaultLimit
                                : std::min(kDefaultLimit, (free_bytes(*cache) + kept) / 2);
    Result<TypedSize> size = parse_typed_size(typed);
    if (!size) {
        size.error().where = kCacheLimit;
        return tl::make_unexpected(std::move(size).error());
    }
    return size->bytes;
}

std::string draft_of(std::string_view entry) {
    return fmt::format("{}{}-{}", kDraft, entry, random_digits());
}

std::vector<CacheEntry> list_cache(const OwnFolder& cache) {
    std::vector<CacheEntry> entries;
    const auto names = cache.names();
    if (!names)
        return entries;
    for (const std::string& name : *names) {
        if (!is_digits(name, kNameDigits) && !is_draft(name))
            continue;
        if (auto entry = look_at(cache, name))
            entries.push_back(std::move(*entry));
    }
    std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
        return std::tie(a.used, a.name) < std::tie(b.used, b.name);
    });
    return entries;
}

void touch_entry(const OwnFolder& entry) {
    constexpr timespec kNow[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    static_cast<void>(::utimensat(entry.descriptor(), kHeadFile, kNow, AT_SYMLINK_NOFOLLOW));
}

bool delete_entry(const OwnFolder& cache, const std::string& name) {
    const Result<OwnFolder> folder = cache.open_folder(name);
    if (!folder)
        return false;
    const auto files = folder->names();
    if (!files || !std::all_of(files->begin(), files->end(), is_our_file))
        return false;
    // The head first: without it the rest doesn't count as a history.
    ::unlinkat(folder->descriptor(), kHeadFile, 0);
    for (const std::string& file : *files)
        ::unlinkat(folder->descriptor(), file.c_str(), 0);
    return ::unlinkat(cache.descriptor(), name.c_str(), AT_REMOVEDIR) == 0;
}

bool lock_folder(const OwnFolder& folder) {
    return ::flock(folder.descriptor(), LOCK_EX | LOCK_NB) == 0;
}

Result<void> make_cache_room(const OwnFolder& cache, Bytes bytes) {
    std::vector<CacheEntry> entries = list_cache(cache);
    for (const CacheEntry& entry : entries) {
        if (entry.is_draft)
            delete_draft(cache, entry.name);
    }
    // What others are making is counted when it is kept.
    std::erase_if(entries, [](const CacheEntry& entry) { return entry.is_draft; });
    Bytes kept = 0;
    for (const CacheEntry& entry : entries)
        kept += entry.bytes;
    TM_ASSIGN(const Bytes limit, cache_limit(&cache, kept));
    if (bytes > limit)
        return fail(ErrorCode::no_space,
                    fmt::format("{} may be needed, but the whole cache may have at most {}",
                                format_bytes(bytes), format_bytes(limit)),
                    cache.path(), fmt::format("set another limit with {}", kCacheLimit));
    const auto has_room = [&] {
        return kept + bytes <= limit && free_bytes(cache) >= bytes + kSpare;
    };
    for (auto entry = entries.begin(); entry != entries.end() && !has_room(); ++entry) {
        if (delete_entry(cache, entry->name))
            kept -= entry->bytes;
    }
    if (!has_room())
        return fail(ErrorCode::no_space, "there is no room for it on this disk", cache.path());
    return {};
}

ClearedCache clear_cache(const OwnFolder& cache) {
    ClearedCache cleared;
    for (const CacheEntry& entry : list_cache(cache)) {
        if (entry.is_draft ? delete_draft(cache, entry.name) : delete_entry(cache, entry.name)) {
            ++cleared.entries;
            cleared.bytes += entry.bytes;
        } else {
            cleared.left.push_back(entry.name);
        }
    }
    return cleared;
}

}  // namespace tidemark
