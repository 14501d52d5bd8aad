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
    return {target.substr(0, mark), query_value(query, "token"), query_value(query, "view")};
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

bool HostRules::allows_host(std::string_view authority) const {
    const std::string_view host = host_of(authority);
    return !host.empty() &&
           (same_name(host, "localhost") || is_numeric(std::string(host)) || has_name(host));
}

bool HostRules::allows_origin(std::string_view origin, std::string_view authority) const {
    if (origin.empty())
        return true;
    for (const std::string_view scheme : {"http://", "https://"})
        if (origin.starts_with(scheme)) {
            const std::string_view from = origin.substr(scheme.size());
            return same_name(from, authority) ||
                   (!host_of(from).empty() && has_name(host_of(from)));
        }
    return false;
}

WebAnswer decide(const WebRequest& request, const HostRules& rules, std::string_view token) {
    if (!rules.allows_host(request.host))
        return WebAnswer::wrong_host;
    if (!request.reads)
        return WebAnswer::wrong_method;
    const WebTarget target = parse_web_target(request.target);
    const bool is_socket = target.path == "/socket";
    if (!is_socket && target.path != "/")
        return WebAnswer::not_found;
    if (!equal_secrets(target.token, token))
        return WebAnswer::wrong_token;
    if (!is_socket)
        return WebAnswer::page;
    if (!rules.allows_origin(request.origin, request.host))
        return WebAnswer::wrong_origin;
    return request.upgrades ? WebAnswer::socket : WebAnswer::no_socket;
}

}  // namespace tidemark::viz
