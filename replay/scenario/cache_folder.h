// The user's cache of histories: where it is, how large it may be, its content, and deleting.
//
//   ~/.cache/tidemark/3f00c1d2a4b5e697/                 an entry: a history
//   ~/.cache/tidemark/draft-3f00c1d2a4b5e697-1a2b3c4d/  one that is being made, locked by its maker
//
// It is an OwnFolder. Everything in it is reached by descriptor, and only files with our names are
// deleted: a folder that holds a file of any other name stays as it is, and so do other files next
// to the entries. Thread-safe, also between processes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "traces/io/own_folder.h"

namespace tidemark {

constexpr const char* kHeadFile = "head";  // of an entry

// $XDG_CACHE_HOME/tidemark, if that is absolute; else .cache/tidemark in $HOME, or, if that is
// empty, relative or another user's, in the home that the system knows. Errors (not_found): there
// is none of these.
Result<std::string> cache_folder();

// The environment's limit on all entries together, and the default limit: 10 GiB, but at most half
// of what the disk would have free without the cache.
constexpr const char* kCacheLimit = "TIDEMARK_CACHE_LIMIT";

// Of a cache (null: there is none yet) that has `kept`. Errors (bad_option): it is not a size.
Result<Bytes> cache_limit(const OwnFolder* cache, Bytes kept);

struct CacheEntry {
    std::string name;
    Bytes bytes = 0;
    Nanoseconds used = 0;  // when it was made or opened last, since the Unix epoch
    bool is_draft = false;
};

// The name of a new draft of an entry.
std::string draft_of(std::string_view entry);

// Entries, and drafts, the one that was used last at the end. O(files).
std::vector<CacheEntry> list_cache(const OwnFolder& cache);

// Says that an entry is used now.
void touch_entry(const OwnFolder& entry);

// Deletes a folder of the cache. False: it does not exist, holds files that we did not create (then
// nothing of it is deleted), or can't be deleted.
bool delete_entry(const OwnFolder& cache, const std::string& name);

// The folder's lock, held as long as the folder is open. False: another process has it.
bool lock_folder(const OwnFolder& folder);

// Deletes drafts whose makers are gone, then entries, those used longest ago first, until `bytes`
// more are within the limit and the disk has room for them. Readers of a deleted entry may go on.
// Errors: bad_option: as cache_limit(); no_space: there is not enough to delete.
Result<void> make_cache_room(const OwnFolder& cache, Bytes bytes);

struct ClearedCache {
    std::size_t entries = 0;
    Bytes bytes = 0;
    std::vector<std::string> left;  // names: in the making, or what is in them isn't all ours
};

// Deletes everything that can be deleted.
ClearedCache clear_cache(const OwnFolder& cache);

}  // namespace tidemark
