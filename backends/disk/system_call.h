// A system call's result as a value: tried again when a signal interrupts it, errno when it fails.
#pragma once

#include <cerrno>
#include <utility>

#include "core/tiers/disk/block_files.h"

namespace tidemark {

// `call` gives -1 and errno, or a number that is not negative.
template <class Call>
FileResult<decltype(std::declval<Call>()())> system_call(Call&& call) {
    while (true) {
        const auto result = call();
        if (result >= 0)
            return result;
        if (errno != EINTR)
            return tl::make_unexpected(FileError{errno});
    }
}

}  // namespace tidemark
