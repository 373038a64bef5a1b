// Links of a group of very many members, as HDF5 1.10 and later read and write them outside of the group's header, made
// without HDF5, which takes ten microseconds for each: a fractal heap of the links, and a tree of the hashes of their
// names. Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smallbatch {

/// A member of a group, and where its header is.
struct GroupMember {
  std::string name;
  std::uint64_t address = 0;
};

/// Where a header says that links outside of it are; undefined where there are none.
struct DenseLinks {
  std::uint64_t heap = UINT64_MAX, names = UINT64_MAX;
};

/// Longer names have no place in the smallest block of the heap.
inline constexpr std::size_t longest_dense_name = 400;

/// Writes links to `members`, of which there is at least one, no two of one name, none longer than that. reserve()
/// gives room in the file, write() fills it.
DenseLinks write_dense_links(const std::vector<GroupMember>& members,
                             const std::function<std::uint64_t(std::uint64_t size)>& reserve,
                             const std::function<void(std::uint64_t address, const std::string& bytes)>& write);

}  // namespace smallbatch
