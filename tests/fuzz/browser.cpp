// What a browser, or anybody who reaches the port, may send to `view --serve`: events, and the
// target and headers of a request, of any bytes.
#include <algorithm>
#include <string_view>

#include "core/base/check.h"
#include "tests/fuzz/targets.h"
#include "viz/serve/browser_events.h"
#include "viz/serve/browser_keys.h"
#include "viz/serve/web_access.h"

namespace tidemark::fuzz {
namespace {

using namespace viz;

constexpr std::string_view kToken = "0123456789abcdef";

void read_events(std::span<const std::byte> bytes) {
    const auto events = parse_browser_events(bytes);
    if (!events) {
        TM_CHECK(!events.error().what.empty());
        return;
    }
    TM_CHECK(!events->empty() && events->size() <= bytes.size());
    // None of it was left over, and nothing was taken that isn't there.
    const auto shorter = parse_browser_events(bytes.first(bytes.size() - 1));
    TM_CHECK(!shorter || shorter->size() < events->size());
    for (const BrowserEvent& event : *events) {
        if (const auto* const changed = std::get_if<BrowserKey>(&event)) {
            TM_CHECK(!changed->name.empty() && changed->name.size() <= kMostKeyName);
            static_cast<void>(press_of(*changed));
            const std::string_view text = typed_text(*changed);
            TM_CHECK(text.empty() || text == changed->name);
        }
        if (const auto* const size = std::get_if<PageSized>(&event))
            TM_CHECK(size->width > 0 && size->height > 0 && size->ratio > 0);
    }
}

// Bytes as "target\nhost\norigin\nforwarded host".
void read_request(std::string_view text) {
    WebRequest request;
    for (std::string_view* const part :
         {&request.target, &request.host, &request.origin, &request.forwarded_host}) {
        *part = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), part->size() + 1));
    }
    const HostRules rules({"gpu.example.org"}, 8765);
    for (const unsigned kind : {0U, 1U, 2U, 3U}) {
        const bool upgrades = (kind & 1U) != 0;
        request.upgrades = upgrades;
        request.forwarded = (kind & 2U) != 0;
        const WebAnswer answer = decide(request, rules, kToken);
        const bool lets_in = answer == WebAnswer::page || answer == WebAnswer::socket;
        TM_CHECK(!lets_in || request.target.find(kToken) != std::string_view::npos);
        TM_CHECK(!lets_in || !host_of(request.host).empty());
        TM_CHECK(answer != WebAnswer::socket || upgrades);
        TM_CHECK(lets_in == refusal_text(answer, request).empty());
    }
}

}  // namespace

void browser_input(std::span<const std::byte> bytes) {
    read_events(bytes);
    read_request({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace tidemark::fuzz
