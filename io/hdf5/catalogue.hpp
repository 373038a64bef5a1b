// Descriptions of the objects of an input file. io/hdf5/describer.* makes them in a separate process. InputFile takes
// names, shapes and attributes from them. This file does not use HDF5. Private to io/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/hdf5/chunks.hpp"
#include "io/hdf5/number_conversion.hpp"

namespace smallbatch {

/// Size of the largest string in an attribute, in bytes.
inline constexpr std::size_t largest_string = 4096;

enum class ObjectKind { none, group, dataset, other };

/// Form in which a dataset stores its numbers. Complex numbers are compounds {r, i} of numbers, as h5py writes them.
/// Here they are two numbers along an added last axis. Booleans are enumerations of FALSE and TRUE in int8, as h5py
/// writes them. Texts of fixed length are uint8 here, with their bytes along an added last axis.
enum class NumberForm { plain, complex, boolean, text };

/// Name of the type of a dataset without data, as h5py.Empty writes it.
inline constexpr const char* no_data = "no data";

struct DatasetInfo {
  std::vector<std::int64_t> shape;
  std::string type_name;  ///< for messages: "float32", "uint8", "string", ...
  ElementType type = ElementType::other;
  NumberForm form = NumberForm::plain;

  [[nodiscard]] bool is(ElementType plain) const { return form == NumberForm::plain && type == plain; }
  [[nodiscard]] bool is_float() const { return is(ElementType::float32) || is(ElementType::float64); }
  [[nodiscard]] bool is_integer() const {
    return form == NumberForm::plain && type != ElementType::other && !is_float();
  }
};

/// Reason why an object cannot be used, and a remedy. These parts of a message name neither the file nor the object.
struct Defect {
  std::string why, remedy;
  ErrorKind kind = ErrorKind::bad_input;  ///< another kind if the file is not at fault
};

/// Layout and chunks of a dataset, as ChunkedDataset takes them.
struct StoredChunks {
  ChunkLayout layout;
  std::vector<StoredChunk> all;
};

/// A dataset. Its numbers are at `address`, in `chunks` or in `compact`. All three are empty if there are no numbers,
/// or if their type is `other`. There may be millions of datasets, most of them with an address. Members that few
/// datasets need are therefore allocated separately.
struct StoredDataset {
  DatasetInfo info;
  bool is_swapped = false;  ///< as in NumberType
  std::optional<std::uint64_t> address;
  std::unique_ptr<StoredChunks> chunks;
  std::unique_ptr<std::vector<unsigned char>> compact;  ///< all of the numbers, as the file has them
  /// Fill value that the writer declared for unwritten numbers, as the file has it. Null if the writer declared none.
  std::unique_ptr<std::vector<unsigned char>> fill;
};

struct StoredAttribute {
  std::string name;
  std::string type_name;  ///< empty if the defect was found before the type
  std::int64_t count = 0;
  bool is_integer = false, is_number = false,
       is_text = false;  ///< it can be read in these forms; a Boolean is an integer and no number
  std::vector<std::int64_t> integers;
  std::optional<double> number;
  std::vector<std::string> texts;
  std::unique_ptr<Defect> defect;  ///< reported to a caller who reads the value
};

/// An object of a file, and the objects below it. A caller who reads a part with a defect gets the defect instead.
struct StoredObject {
  std::string name;           ///< in its group
  bool is_described = false;  ///< false: only the name is known
  ObjectKind kind = ObjectKind::none;
  std::unique_ptr<Defect> defect;
  std::vector<StoredAttribute> attributes;  ///< sorted by name
  std::unique_ptr<Defect> attributes_defect;
  std::vector<StoredObject> members;       ///< of a group, sorted by name, without duplicates
  std::unique_ptr<StoredDataset> dataset;  ///< of a dataset
  /// Defect of the members or of the dataset. Very many objects may share one defect. For example, datasets that only
  /// name axes all lack numbers.
  std::shared_ptr<const Defect> contents_defect;
};

/// Returns the bytes of an array, or nothing if the shape has a negative length, or if their number needs more than 64
/// bits. If a length is zero, there are no bytes, whatever the other lengths are.
std::optional<std::uint64_t> declared_bytes(const std::vector<std::int64_t>& shape, std::uint64_t element_bytes);

/// Whether a file of `file_bytes` bytes can hold the dataset at its declared address. Descriptions may be wrong, so
/// this is checked before memory is allocated for a dataset.
bool can_be_in_file(const StoredDataset& dataset, std::uint64_t file_bytes);

/// A dataset with more chunks than this is described only if the request names this dataset itself.
inline constexpr std::uint64_t most_chunks_unrequested = 1000;

/// Fills in the description of `object`, and of the objects at most `depth` levels below it. Each call of `next`
/// returns one description, that of a group before those of its members. The description of a group has only the names
/// of its members.
void put_together(StoredObject& object, int depth, const std::function<StoredObject()>& next);

}  // namespace smallbatch
