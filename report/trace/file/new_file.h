// A file that is written from beginning to end.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "trace_error.h"

namespace peakline::report {

// Removes the file unless finish() was called. Throws TraceError with the reason on failure, also
// when the file exists.
class NewFile {
public:
    explicit NewFile(std::string path)
        : path_(std::move(path)), file_(fopen(path_.c_str(), "wbx")) {
        if (file_ == nullptr) {
            fail("cannot make the file");
        }
    }
    ~NewFile() {
        if (file_ != nullptr) {
            fclose(file_);
            remove(path_.c_str());
        }
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    void write(const void* bytes, size_t count) {
        if (fwrite(bytes, 1, count, file_) != count) {
            fail("cannot write");
        }
    }
    void finish() {
        FILE* file = std::exchange(file_, nullptr);
        if (fclose(file) != 0) {
            remove(path_.c_str());
            fail("cannot write");
        }
    }

private:
    [[noreturn]] void fail(const char* action) const {
        throw TraceError(path_ + ": " + action + ": " + std::strerror(errno));
    }

    std::string path_;
    FILE* file_;
};

}  // namespace peakline::report
