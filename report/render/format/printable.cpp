#include "printable.h"

#include "allocator/record/format/unsafe_text.h"

namespace peakline::report {

std::string printable(std::string_view text) {
    std::string safe(text);
    safe.resize(format::make_printable(safe.data(), safe.size()));
    return safe;
}

}  // namespace peakline::report
