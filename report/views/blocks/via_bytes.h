// Sums the bytes of a row by the operator that allocated them below its line, or by the line that
// led there. Pure aggregation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/attribute/names/label.h"

namespace peakline::report {

class ViaBytes {
public:
    void add(const std::string& name, uint64_t bytes, uint64_t count);
    // Largest first. Empty when none is known: then the row has no such parts.
    std::vector<ViaPart> take();

private:
    std::map<std::string, ViaPart> parts_;
};

}  // namespace peakline::report
