// Tokens, hosts and origins.
#include "viz/serve/web_access.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

namespace tidemark::viz {
namespace {

char lower_case(char character) {
    return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a')
                                                : character;
}

bool same_name(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](char a, char b) { return lower_case(a) == lower_case(b); });
}

bool is_numeric(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
           inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// Names that no foreign page can have.
bool is_local(std::string_view host) {
    return same_name(host, "localhost") || is_numeric(std::string(host));
}

// On the machine of the user who sees the page.
bool is_loopback(std::string_view host) {
    return same_name(host, "localhost") || host == "::1" ||
           (host.starts_with("127.") && is_numeric(std::string(host)));
}

// Whether it can be used in a command line without quotes.
bool is_plain_name(std::string_view name) {
    return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
        return (c >= '0' && c <= '9') || (lower_case(c) >= 'a' && lower_case(c) <= 'z') ||
               c == '.' || c == '-' || c == '_';
    });
}

// How to let that name in.
std::string advice_for(std::string_view host) {
    const std::string name(is_plain_name(host) ? host : "NAME");
    return fmt::format(
        "start the viewer with --allow-host {0} (in Python: "
        "tidemark.view(..., allow_host=\"{0}\"))",
        name);
}

std::string_view without(std::string_view port, std::string_view authority) {
    return authority.ends_with(port) ? authority.substr(0, authority.size() - port.size())
                                     : authority;
}

struct WebOrigin {
    std::string_view scheme;
    std::string_view authority;
};

// "https" and "hub.example.org" of "https://hub.example.org"; nothing of what is otherwise.
WebOrigin parse_origin(std::string_view origin) {
    const std::size_t end = origin.find("://");
    return end == std::string_view::npos ? WebOrigin{}
                                         : WebOrigin{origin.substr(0, end), origin.substr(end + 3)};
}

// Of "a=1&b=2".
std::string_view query_value(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
            return pair.substr(name.size() + 1);
    }
    return {};
}

}  // namespace

Result<std::string> random_token(std::size_t bytes) {
    std::string token;
    for (std::size_t i = 0; i < bytes; ++i) {
        std::uint8_t byte = 0;
        if (getrandom(&byte, sizeof byte, 0) != sizeof byte)
            return fail(ErrorCode::unsupported, "the system gives no random numbers");
        token += fmt::format("{:02x}", byte);
    }
    return token;
}

bool equal_secrets(std::string_view left, std::string_view right) {
    if (left.size() != right.size())
        return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < left.size(); ++i)
        difference |= static_cast<unsigned>(static_cast<unsigned char>(left[i])) ^
                      static_cast<unsigned>(static_cast<unsigned char>(right[i]));
    return difference == 0;
}

WebTarget parse_web_target(std::string_view target) {
    const std::size_t mark = std::min(target.find('?'), target.size());
    const std::string_view query = target.substr(std::min(mark + 1, target.size()));
    const std::size_t slash = target.substr(0, mark).rfind('/');
    const std::size_t name = slash == std::string_view::npos ? mark : slash + 1;
    return {target.substr(name, mark - name), query_value(query, "token"),
            query_value(query, "view"), query_value(query, "from")};
}

std::string_view host_of(std::string_view authority) {
    std::string_view host = authority;
    std::string_view rest;
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        if (end == std::string_view::npos)
            return {};
        host = authority.substr(1, end - 1);
        rest = authority.substr(end + 1);
    } else if (const std::size_t colon = authority.find(':'); colon != std::string_view::npos) {
        host = authority.substr(0, colon);
        rest = authority.substr(colon);
    }
    const bool is_port = rest.empty() || (rest.front() == ':' && rest.size() <= 6 &&
                                          std::all_of(rest.begin() + 1, rest.end(),
                                                      [](char c) { return c >= '0' && c <= '9'; }));
    return is_port ? host : std::string_view{};
}

bool HostRules::has_name(std::string_view name) const {
    return std::any_of(names_.begin(), names_.end(),
                       [name](const std::string& known) { return same_name(known, name); });
}

bool HostRules::allows_host(const WebRequest& request) const {
    const std::string_view host = host_of(request.host);
    return !host.empty() && (request.forwarded || is_local(host) || has_name(host));
}

bool HostRules::allows_origin(std::string_view origin, const WebRequest& request) const {
    if (origin.empty())
        return true;
    const auto [scheme, authority] = parse_origin(origin);
    if (scheme != "http" && scheme != "https")
        return false;
    const std::string_view usual_port = scheme == "http" ? ":80" : ":443";
    const std::string_view from = without(usual_port, authority);
    const std::string_view host = host_of(from);
    if (host.empty())
        return false;
    // Of several proxies the browser sent its request to the first one.
    const std::string_view requested =
        request.forwarded_host.substr(0, request.forwarded_host.find(','));
    return same_name(from, without(usual_port, request.host)) ||
           same_name(from, without(usual_port, requested)) || has_name(host) ||
           (request.forwarded && is_loopback(host) && from.ends_with(fmt::format(":{}", port_)));
}

WebAnswer decide(const WebRequest& request, const HostRules& rules, std::string_view token) {
    if (!rules.allows_host(request))
        return WebAnswer::wrong_host;
    if (!request.reads)
        return WebAnswer::wrong_method;
    const WebTarget target = parse_web_target(request.target);
    const bool is_socket = target.name == "socket";
    if (!request.target.starts_with('/') || (!is_socket && !target.name.empty()))
        return WebAnswer::not_found;
    if (!equal_secrets(target.token, token))
        return WebAnswer::wrong_token;
    if (!is_socket)
        return WebAnswer::page;
    if (!rules.allows_origin(request.upgrades ? request.origin : target.from, request))
        return WebAnswer::wrong_origin;
    return request.upgrades ? WebAnswer::socket : WebAnswer::no_socket;
}

std::string refusal_text(WebAnswer answer, const WebRequest& request) {
    switch (answer) {
        case WebAnswer::page:
        case WebAnswer::socket:
            return {};
        case WebAnswer::wrong_host: {
            const std::string_view host = host_of(request.host);
            return fmt::format(
                "The viewer doesn't accept the host name {}. If it is a name of "
                "this machine, or of a proxy in front of it, {}.",
                is_plain_name(host) ? host : "in this link", advice_for(host));
        }
        case WebAnswer::wrong_method:
            return "Only GET is supported.";
        case WebAnswer::not_found:
            return "There is nothing here: the link ends with /?token=...";
        case WebAnswer::wrong_token:
            return "The token is missing or wrong: use the whole link that `tidemark view "
                   "--serve` printed. It changes with every start.";
        case WebAnswer::wrong_origin: {
            const std::string_view from =
                request.upgrades ? request.origin : parse_web_target(request.target).from;
            const std::string_view host = host_of(parse_origin(from).authority);
            return fmt::format(
                "Pages from other sites may not connect. If {} is a proxy in front of the "
                "viewer, let it send the header Host or X-Forwarded-Host as the "
                "browser sent it, or {}.",
                is_plain_name(host) ? host : "that", advice_for(host));
        }
        case WebAnswer::no_socket:
            break;
    }
    return "The proxy in front of the viewer doesn't pass WebSockets. In nginx: "
           "proxy_http_version "
           "1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;";
}

}  // namespace tidemark::viz
