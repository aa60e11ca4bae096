#include "checkpoint_files.h"

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "allocator/record/files/small_files.h"
#include "kernel.h"

namespace peakline::guard {
namespace {

bool ends_with(const char* text, size_t text_length, const char* end) {
    const size_t end_length = strlen(end);
    return text_length >= end_length &&
           memcmp(text + text_length - end_length, end, end_length) == 0;
}

template <size_t kCount>
bool has_ending(const char* path, const char* const (&ends)[kCount]) {
    for (const char* const end : ends) {
        if (ends_with(path, strlen(path), end)) {
            return true;
        }
    }
    return false;
}

constexpr const char* kSmallFiles[] = {"/config.json",
                                       "/generation_config.json",
                                       "/adapter_config.json",
                                       "/trainer_state.json",
                                       ".index.json",
                                       "/.metadata"};

// torch.save since version 1.6 writes a zip file. These are the first names that it contains.
bool is_torch_zip(const unsigned char* start, size_t bytes) {
    constexpr const char* kFirstNames[] = {
        "/data.pkl", "/constants.pkl", "/version", "/byteorder", "/.format_version"};
    constexpr size_t kNameOffset = 30;
    if (bytes <= kNameOffset || memcmp(start, "PK\3\4", 4) != 0) {
        return false;
    }
    const size_t length = start[26] + (size_t{start[27]} << 8);
    const char* const name = reinterpret_cast<const char*>(start) + kNameOffset;
    for (const char* const first : kFirstNames) {
        if (kNameOffset + length <= bytes && ends_with(name, length, first)) {
            return true;
        }
    }
    return false;
}

// torch.save before version 1.6 wrote a pickle that begins with a magic number.
bool is_torch_pickle(const unsigned char* start, size_t bytes) {
    constexpr char kMagic[] = "\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20j\xa8P\x19.";
    return bytes >= sizeof kMagic - 1 && memcmp(start, kMagic, sizeof kMagic - 1) == 0;
}

// The file begins with the length of a JSON header and the header.
bool is_safetensors(const unsigned char* start, size_t bytes) {
    constexpr uint64_t kLongestHeader = 100'000'000;
    uint64_t length = 0;
    memcpy(&length, start, bytes >= sizeof length ? sizeof length : 0);
    return bytes > 10 && length >= 2 && length <= kLongestHeader && start[8] == '{' &&
           (start[9] == '"' || start[9] == '}' || start[9] == ' ');
}

bool exists_beside(const char* path, const char* name) {
    char other[PATH_MAX];
    struct stat status {};
    const auto folder_length = static_cast<int>(strrchr(path, '/') - path);
    snprintf(other, sizeof other, "%.*s/%s", folder_length, path, name);
    return kernel::stat(other, &status);
}

}  // namespace

bool is_checkpoint_name(const char* path) {
    constexpr const char* kEnds[] = {".pt", ".pth", ".ckpt", ".safetensors", ".distcp"};
    return has_ending(path, kEnds);
}

bool may_be_checkpoint_name(const char* path) {
    constexpr const char* kEnds[] = {".bin", ".pkl"};
    return is_checkpoint_name(path) || has_ending(path, kEnds) || has_ending(path, kSmallFiles);
}

bool holds_checkpoint(const char* path) {
    unsigned char start[512];
    struct stat status {};
    const bool is_file = kernel::stat(path, &status) && S_ISREG(status.st_mode);
    const size_t known = is_file ? record::read_file_slow(path, start, sizeof start) : 0;
    return is_torch_zip(start, known) || is_torch_pickle(start, known) ||
           is_safetensors(start, known);
}

bool is_beside_checkpoint(const char* path) {
    constexpr const char* kLargeFiles[] = {"model.safetensors",
                                           "model.safetensors.index.json",
                                           "adapter_model.safetensors",
                                           "pytorch_model.bin",
                                           "optimizer.pt",
                                           "__0_0.distcp"};
    if (strrchr(path, '/') == nullptr || !has_ending(path, kSmallFiles)) {
        return false;
    }
    for (const char* const name : kLargeFiles) {
        if (exists_beside(path, name)) {
            return true;
        }
    }
    return false;
}

bool is_link_to_checkpoint(const char* path) {
    constexpr const char* kLargeFiles[] = {"/model.safetensors",
                                           "/pytorch_model.bin",
                                           "/optimizer.pt",
                                           "/model.pt",
                                           "/pytorch_model.fsdp.bin",
                                           "/__0_0.distcp",
                                           "/.metadata"};
    struct stat status {};
    if (!kernel::lstat(path, &status) || !S_ISLNK(status.st_mode) || !kernel::stat(path, &status)) {
        return false;
    }
    if (S_ISREG(status.st_mode)) {
        char target[PATH_MAX];
        const ssize_t length = kernel::readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        return is_checkpoint_name(target) || holds_checkpoint(path);
    }
    char inside[PATH_MAX + 32];
    for (const char* const name : kLargeFiles) {
        snprintf(inside, sizeof inside, "%s%s", path, name);
        if (kernel::stat(inside, &status)) {
            return true;
        }
    }
    return false;
}

bool is_in_cache(const char* path) {
    return strstr(path, "/.cache/") != nullptr || strstr(path, "/torchinductor_") != nullptr;
}

}  // namespace peakline::guard
