// Integers of every type that HDF5 knows, in both byte orders, in one piece and in chunks.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "io/hdf5/input.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::expect_error;
using testing::RawHdf5;

class IntegersOfAnyType : public testing::FileTest {};

TEST_F(IntegersOfAnyType, are_read_as_int64) {
  const std::vector<hid_t> signed_types{H5T_STD_I8LE,  H5T_STD_I8BE,  H5T_STD_I16LE, H5T_STD_I16BE,
                                        H5T_STD_I32LE, H5T_STD_I32BE, H5T_STD_I64LE, H5T_STD_I64BE};
  const std::vector<hid_t> unsigned_types{H5T_STD_U8LE,  H5T_STD_U8BE,  H5T_STD_U16LE, H5T_STD_U16BE,
                                          H5T_STD_U32LE, H5T_STD_U32BE, H5T_STD_U64LE, H5T_STD_U64BE};
  for (const bool is_signed : {false, true}) {
    for (const hid_t type : is_signed ? signed_types : unsigned_types) {
      const int bits = static_cast<int>(8 * H5Tget_size(type)) - (is_signed ? 1 : 0);
      const std::int64_t largest = bits >= 63 ? INT64_MAX : (std::int64_t{1} << bits) - 1;
      const std::int64_t least = is_signed ? -largest - 1 : 0;
      const std::vector<std::int64_t> values{0, 1, least, largest, 100, 7};
      for (const bool is_chunked : {false, true}) {
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        const hsize_t chunk = 4;
        if (is_chunked) H5Pset_chunk(creation, 1, &chunk);
        RawHdf5(path("i.h5")).dataset("/a", {6}, values, type, creation);
        H5Pclose(creation);
        const InputFile file(path("i.h5"));
        ASSERT_TRUE(file.dataset("/a").is_integer());
        std::vector<std::int64_t> found(6);
        file.read_integers("/a", {}, found.data());
        EXPECT_EQ(found, values) << file.dataset("/a").type_name;
        file.read_integers("/a", {{2, 3}}, found.data());
        EXPECT_EQ(found, (std::vector<std::int64_t>{least, largest, 100, largest, 100, 7}))
            << file.dataset("/a").type_name;
      }
    }
  }
}

TEST_F(IntegersOfAnyType, beyond_int64_are_named) {
  for (const hid_t type : {H5T_STD_U64LE, H5T_STD_U64BE}) {
    RawHdf5(path("i.h5")).dataset("/a", {2, 2}, std::vector<std::uint64_t>{1, 2, 3, std::uint64_t{1} << 63}, type);
    const InputFile file(path("i.h5"));
    std::vector<std::int64_t> found(4);
    file.read_integers("/a", {{0, 1}}, found.data());
    EXPECT_EQ(found, (std::vector<std::int64_t>{1, 2, 0, 0}));
    expect_error(ErrorKind::bad_input, {"/a", "int64", "9223372036854775808"},
                 [&] { file.read_integers("/a", {}, found.data()); });
  }
}

}  // namespace
}  // namespace smallbatch
