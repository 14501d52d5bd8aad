// What is kept in the user's cache of histories, as text and as JSON. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/report/forms/model.h"
#include "replay/scenario/cache_folder.h"
#include "replay/scenario/history_head.h"

namespace tidemark {

struct CachedHistory {
    CacheEntry entry;
    std::optional<HeadSummary> head;  // none: being written, damaged, or of another version
    Nanoseconds age = 0;              // since it was used
};

struct CacheContent {
    std::string folder;
    Bytes limit = 0;
    std::vector<CachedHistory> histories = {};
    std::optional<ClearedCache> cleared = {};  // then `histories` is what was there before

    Bytes bytes() const;  // of all of them
};

// A table, or what was deleted; a sentence if the cache is empty.
std::string cache_text(const CacheContent& content);

std::string cache_json(const CacheContent& content, const Provenance& provenance);

}  // namespace tidemark
