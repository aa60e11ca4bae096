// cuSPARSE: sparse matrices keep their shape, because programs size their results with it. Results
// that depend on values (the number of entries of a product) are those for zeros: none.

#include <cusparse.h>

#include "model/base/support.h"

namespace {

struct SparseMatrix {
    unsigned char library_part[64];  // belongs to peakline_sim_new_handle
    int64_t row_count;
    int64_t column_count;
    int64_t entry_count;
};

cusparseStatus_t create(cusparseSpMatDescr_t* descriptor,
                        int64_t row_count,
                        int64_t column_count,
                        int64_t entry_count) {
    if (descriptor == nullptr) {
        return CUSPARSE_STATUS_INVALID_VALUE;
    }
    auto* const made = static_cast<SparseMatrix*>(peakline_sim_new_handle(sizeof(SparseMatrix)));
    made->row_count = row_count;
    made->column_count = column_count;
    made->entry_count = entry_count;
    *descriptor = reinterpret_cast<cusparseSpMatDescr_t>(made);
    return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

SIMGPU_API cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* descriptor,
                                              int64_t row_count,
                                              int64_t column_count,
                                              int64_t entry_count,
                                              void*,
                                              void*,
                                              void*,
                                              cusparseIndexType_t,
                                              cusparseIndexType_t,
                                              cusparseIndexBase_t,
                                              cudaDataType) {
    return create(descriptor, row_count, column_count, entry_count);
}

SIMGPU_API cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* descriptor,
                                              int64_t row_count,
                                              int64_t column_count,
                                              int64_t entry_count,
                                              void*,
                                              void*,
                                              void*,
                                              cusparseIndexType_t,
                                              cusparseIndexBase_t,
                                              cudaDataType) {
    return create(descriptor, row_count, column_count, entry_count);
}

SIMGPU_API cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t descriptor) {
    peakline_sim_free_handle(const_cast<void*>(static_cast<const void*>(descriptor)));
    return CUSPARSE_STATUS_SUCCESS;
}

SIMGPU_API cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t descriptor,
                                                 int64_t* row_count,
                                                 int64_t* column_count,
                                                 int64_t* entry_count) {
    const auto* const matrix = reinterpret_cast<const SparseMatrix*>(descriptor);
    *row_count = matrix->row_count;
    *column_count = matrix->column_count;
    *entry_count = matrix->entry_count;
    return CUSPARSE_STATUS_SUCCESS;
}

SIMGPU_API const char* cusparseGetErrorName(cusparseStatus_t status) {
    return status == CUSPARSE_STATUS_SUCCESS ? "CUSPARSE_STATUS_SUCCESS" : "CUSPARSE_STATUS_ERROR";
}

SIMGPU_API const char* cusparseGetErrorString(cusparseStatus_t status) {
    return status == CUSPARSE_STATUS_SUCCESS ? "success" : "error";
}
