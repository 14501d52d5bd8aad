// What a host does with its runs through a Loader, the same for window, server and page.
#pragma once

#include <string>

#include "viz/model/navigation/loader.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {

// A host that cancels, advises, replays and shows other GPUs through `loader`, which must outlive
// it; the caller fills in the rest. O(1).
inline ShellHost loader_host(Loader& loader) {
    ShellHost host;
    host.cancel_loading = [&loader] { loader.cancel(); };
    host.advise = [&loader](std::size_t run) { loader.advise(run); };
    host.replay = [&loader](std::size_t run, const std::string& policy) {
        return loader.replay(run, policy);
    };
    host.next_gpu = [&loader](std::size_t run) { return loader.show_next_gpu(run); };
    return host;
}

}  // namespace tidemark::viz
