// Who may see what is served: everyone with the link. Its token is random and compared in constant
// time; a browser that was lured here under another name (DNS rebinding), or by a page of another
// site, is refused before that.
//
// Behind a proxy the name is the proxy's, and any name is accepted: a page can't choose the headers
// of a WebSocket, so a request with X-Forwarded-For, -Host or -Proto was sent by a proxy, not by a
// browser that a false name led here. The page's origin is checked in any case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tidemark::viz {

// Random bytes, this many, as hexadecimal digits. Errors (unsupported): the system gives none.
Result<std::string> random_token(std::size_t bytes);

// Whether they are the same text, in a time that depends only on the lengths.
bool equal_secrets(std::string_view left, std::string_view right);

// The target of a request: "/proxy/8080/socket?token=12ab&view=34cd".
struct WebTarget {
    std::string_view name;   // the last part of its path; what is before is a proxy's
    std::string_view token;  // empty: none
    std::string_view view;
    std::string_view from;  // the origin of a page that asks why it gets no socket
};

// Of any text; views into it.
WebTarget parse_web_target(std::string_view target);

// "localhost" of "localhost:8080", "::1" of "[::1]:80"; empty if it is no such name.
std::string_view host_of(std::string_view authority);

// The answer to a request: one of the two valid ones, or why not.
enum class WebAnswer : std::uint8_t {
    page,
    socket,
    wrong_host,
    wrong_method,
    not_found,
    wrong_token,
    wrong_origin,
    no_socket,  // /socket without being an upgrade to a WebSocket
};

struct WebRequest {
    bool reads = true;  // GET
    bool upgrades = false;
    std::string_view target = {};
    std::string_view host = {};
    std::string_view origin = {};          // empty: none, so no browser's page sent it
    bool forwarded = false;                // a proxy says so: X-Forwarded-For, -Host or -Proto
    std::string_view forwarded_host = {};  // X-Forwarded-Host
};

class HostRules {
  public:
    // Besides localhost and numeric addresses, which no foreign page can have for its own, these
    // names are ours. `port` is where we listen.
    HostRules(std::vector<std::string> names, std::uint16_t port)
        : names_(std::move(names)), port_(port) {}

    // By the Host header: a name that is ours, or a proxy's.
    bool allows_host(const WebRequest& request) const;

    // Where the page comes from: from what the browser, or a proxy, says that it asked; or from one
    // of the names; or, by a proxy that writes over it (VS Code's tunnels), from our port.
    bool allows_origin(std::string_view origin, const WebRequest& request) const;

  private:
    bool has_name(std::string_view name) const;

    std::vector<std::string> names_;
    std::uint16_t port_;
};

WebAnswer decide(const WebRequest& request, const HostRules& rules, std::string_view token);

// A sentence for the user: why, and what to type to fix it. Empty for page and socket.
std::string refusal_text(WebAnswer answer, const WebRequest& request);

}  // namespace tidemark::viz
