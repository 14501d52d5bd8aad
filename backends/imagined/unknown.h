// Functions that have no implementation here: which may do nothing, and which must not be called.
#pragma once

#include <string_view>

namespace tidemark::imagined {

enum class Unknown {
    quiet,    // changes only device memory, or settings of a handle: success
    creates,  // returns a handle in its first argument
    refused,  // writes values to the host on which programs rely: fails
};

// What calling `name` may do.
Unknown kind_of(std::string_view name);

}  // namespace tidemark::imagined
