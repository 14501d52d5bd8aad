// Who may see what is served: whoever has the link. Its token is random and compared in constant
// time; a browser that was lured here under another name (DNS rebinding), or by a page of somebody
// else, is refused before that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tidemark::viz {

// So many random bytes as hexadecimal digits. Errors (unsupported): the system gives none.
Result<std::string> random_token(std::size_t bytes);

// Whether they are the same text, in a time that depends on the lengths alone.
bool equal_secrets(std::string_view left, std::string_view right);

// What a request asks for: "/socket?token=12ab&view=34cd".
struct WebTarget {
    std::string_view path;
    std::string_view token;  // empty: none
    std::string_view view;
};

// Of any text; views into it.
WebTarget parse_web_target(std::string_view target);

// "localhost" of "localhost:8080", "::1" of "[::1]:80"; empty if it is no such name.
std::string_view host_of(std::string_view authority);

class HostRules {
  public:
    // Beside localhost and numeric addresses, which no foreign page can have for its own, these
    // names are ours.
    explicit HostRules(std::vector<std::string> names) : names_(std::move(names)) {}

    // By the Host header.
    bool allows_host(std::string_view authority) const;

    // By the Origin header of a WebSocket (empty: it has none, and so no browser sent it): the page
    // comes from `authority`, the Host of the same request, or from one of the names.
    bool allows_origin(std::string_view origin, std::string_view authority) const;

  private:
    bool has_name(std::string_view name) const;

    std::vector<std::string> names_;
};

// What comes of a request: one of the two that there are, or why not.
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
    std::string_view origin = {};
};

WebAnswer decide(const WebRequest& request, const HostRules& rules, std::string_view token);

}  // namespace tidemark::viz
