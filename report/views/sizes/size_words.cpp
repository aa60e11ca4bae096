#include "size_words.h"

#include <algorithm>
#include <sstream>

#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

StepSize read_size(std::istringstream& words, const std::string& text) {
    StepSize size;
    words >> size.batch >> size.length;
    if (words.fail() || size.batch > kMostOfSize || size.length > kMostOfSize) {
        throw TraceError("'" + text + "' is no size: batch and length are at most " +
                         std::to_string(kMostOfSize));
    }
    return size;
}

}  // namespace

NamedSize recorded_size_of(const std::string& text) {
    std::istringstream words(text);
    NamedSize named;
    named.size = read_size(words, text);
    words.get();
    std::getline(words, named.path, '\0');
    return named;
}

AskedSize asked_size_of(const std::string& text) {
    std::istringstream words(text);
    AskedSize asked;
    asked.size = read_size(words, text);
    words >> asked.new_tokens;
    asked.new_tokens = words.fail() ? 0 : std::min(asked.new_tokens, kMostOfSize);
    return asked;
}

std::string reason_of_doubt(const std::vector<StepSize>& recorded, Growth one, Growth other) {
    const auto differs = [&recorded](uint64_t StepSize::*side) {
        return std::any_of(recorded.begin(), recorded.end(), [&](const StepSize& size) {
            return size.*side != recorded.front().*side;
        });
    };
    const std::string what =
        one == Growth::kUnknown ? "some blocks are in one recording only, or follow no formula:"
                                  " their kernels change with the size"
        : one == Growth::kTwoTerms
            ? "some blocks grow with two terms, which these sizes do not tell"
            : "they cannot tell " + std::string(growth_name(one)) + " from " + growth_name(other);
    const std::string more = one == Growth::kUnknown       ? "record sizes nearer to it"
                             : !differs(&StepSize::length) ? "record one more with another length"
                             : !differs(&StepSize::batch)
                                 ? "record one more with another batch"
                                 : "record a third size, in which batch and length do not"
                                   " grow as they do between these";
    return what + "; " + more;
}

}  // namespace peakline::report
