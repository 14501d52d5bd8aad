// The keys of JSON output and those that docs/json.md describes, to be held against each other.
#pragma once

#include <map>
#include <set>
#include <string>

namespace tidemark::support {

using Keys = std::set<std::string>;

// "streams[].handle", "provenance.version": every key of the JSON text with the way to it. Under
// `open` keys the names are the user's: "settings.*".
Keys printed_keys(const std::string& json, const Keys& open = {});

// Keys in the first cells of the tables under "## `section`" of docs/json.md; none without the
// section.
Keys documented_keys(const std::string& section);

// Former name -> name of today, of the section `section`, as docs/json.md has them under "Old
// names".
std::map<std::string, std::string> former_keys(const std::string& section);

}  // namespace tidemark::support
