// Pickle: a JSON value as Python's pickle, for tools that read only that (PyTorch's memory_viz).
#pragma once

#include <string>

#include "replay/report/forms/json_values.h"

namespace tidemark::report {

// Protocol 2, which every Python 3 and our own readers can read. Objects become dicts, strings str;
// an array called "*_pool_id" becomes a tuple, as in PyTorch. Strings are stored once. Bytes that
// aren't UTF-8 must have been replaced. Pure; O(size).
std::string pickle_of(const Json& value);

}  // namespace tidemark::report
