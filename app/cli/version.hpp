// Versions of this program and of the tools that built it. CMake fills in the texts.
#pragma once

namespace smallbatch {

extern const char* const version_text;
extern const char* const commit_text;
extern const char* const eigen_version_text;
extern const char* const compiler_text;
extern const char* const cuda_compiler_text;  ///< empty without CUDA

}  // namespace smallbatch
