// Functions that have no implementation here: which may do nothing, and which must not be called.
#pragma once

#include <string_view>

namespace tidemark::imagined {

enum class Unknown {
    quiet,    // changes only what lies on the device, or settings of a handle: success
    creates,  // gives a handle by its first argument
    refused,  // writes to the host what a program goes by: fails
};

// What calling `name` may do.
Unknown kind_of(std::string_view name);

}  // namespace tidemark::imagined
