// Catch2 of either version: 3 (Debian 13, Ubuntu 24.04) where it is installed, else 2.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#    include <string>

#    include <catch2/catch_all.hpp>

// Version 2's names of what the tests use.
namespace Catch {
using Matchers::EndsWith;
using Matchers::StartsWith;
inline auto Contains(const std::string& text) {
    return Matchers::ContainsSubstring(text);
}
}  // namespace Catch
using Catch::Approx;
#else
#    include <catch2/catch.hpp>
#endif
