// What the page's worker calls, and how it is called back: worker.js has the other side. Addresses
// travel as JavaScript's numbers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <emscripten.h>

#include "viz/page/page_view.h"

namespace {

using tidemark::viz::PageOptions;
using tidemark::viz::PageView;

std::unique_ptr<PageView>& page() {
    static std::unique_ptr<PageView> the_page;
    return the_page;
}

EM_JS(void, send_message, (double address, double bytes),
      { Module.message(HEAPU8.slice(address, address + bytes)); });
EM_JS(void, send_progress, (double share, double address, double bytes), {
    Module.progress(share, new TextDecoder().decode(HEAPU8.slice(address, address + bytes)));
});

EM_JS(void, send_file, (double address, double bytes),
      { Module.file(new TextDecoder().decode(HEAPU8.slice(address, address + bytes))); });
EM_JS(void, send_text, (double address, double bytes),
      { Module.text(new TextDecoder().decode(HEAPU8.slice(address, address + bytes))); });

double address_of(const void* pointer) {
    return static_cast<double>(reinterpret_cast<std::uintptr_t>(pointer));
}

void send(const std::string& text) {
    send_text(address_of(text.data()), static_cast<double>(text.size()));
}

template <class T>
T* at(double address) {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

extern "C" {

// Starts; false: it can't.
EMSCRIPTEN_KEEPALIVE int page_open(int dark, int advises, double location) {
    PageOptions options;
    options.dark = dark != 0;
    options.advises = advises != 0;
    options.location = at<const char>(location);
    options.on_progress = [](double share, const std::string& activity) {
        send_progress(share, address_of(activity.data()), static_cast<double>(activity.size()));
    };
    options.take_file = [](const std::string& path) {
        send_file(address_of(path.data()), static_cast<double>(path.size()));
    };
    auto opened = PageView::open(options);
    if (!opened && !options.location.empty()) {
        options.location.clear();  // an invalid link still opens the file
        opened = PageView::open(options);
    }
    if (!opened)
        return 0;
    page() = std::move(*opened);
    return 1;
}

// Adds files: their paths, one a line.
EMSCRIPTEN_KEEPALIVE void page_add(double paths) {
    std::vector<std::string> files;
    for (std::string_view rest = at<const char>(paths); !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        files.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    page()->add(std::move(files));
}

// Room for `bytes` bytes of events, and a function to take them.
EMSCRIPTEN_KEEPALIVE double page_room(double bytes) {
    static std::vector<std::byte> room;
    room.resize(static_cast<std::size_t>(bytes));
    return address_of(room.data());
}

EMSCRIPTEN_KEEPALIVE void page_take(double bytes, double count) {
    static_cast<void>(page()->take({at<const std::byte>(bytes), static_cast<std::size_t>(count)}));
}

EMSCRIPTEN_KEEPALIVE void page_take_findings(double bytes, double count) {
    page()->take_findings({at<const char>(bytes), static_cast<std::size_t>(count)});
}

// Text for the page, which receives it by Module.text.
EMSCRIPTEN_KEEPALIVE void page_send_findings() {
    send(page()->findings());
}

EMSCRIPTEN_KEEPALIVE void page_send_figures() {
    send(page()->figures());
}

// One turn; seconds until the next is due, below 0: not before an event.
EMSCRIPTEN_KEEPALIVE double page_turn() {
    const PageView::Turn turn = page()->turn();
    for (const std::vector<std::byte>& message : turn.messages)
        send_message(address_of(message.data()), static_cast<double>(message.size()));
    return turn.pause;
}
}
