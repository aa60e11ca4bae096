// The literal form of a report's document, as the renderer in Python writes it; for tests that
// compare texts. Tables that have no literal form get their cells two spaces apart.
#pragma once

#include <string>

namespace peakline::test {

// `document`: the result of a report for OutputForm::kDocument.
std::string plain_text(const std::string& document);

}  // namespace peakline::test
