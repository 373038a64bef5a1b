// Descriptions of the objects of an input file. io/hdf5/describer.* makes them, in a process of its own or in this one,
// and InputFile answers from them. Knows no HDF5. Private to io/.
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

/// Of an attribute, in bytes.
inline constexpr std::size_t largest_string = 4096;

enum class ObjectKind { none, group, dataset, other };

/// Complex numbers are compounds {r, i} of numbers, as h5py writes them; here they are two numbers along a last axis.
/// Booleans are enumerations of FALSE and TRUE in int8, as h5py writes them. Texts of one fixed length are uint8 here,
/// their bytes along a last axis.
enum class NumberForm { plain, complex, boolean, text };

/// The type's name of a dataset without any, as h5py.Empty writes it.
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

/// Why something cannot be used, and what to do about it: the two parts of a message, which name no file and no object.
struct Defect {
  std::string why, remedy;
  ErrorKind kind = ErrorKind::bad_input;  ///< another one where it is not the file's fault
};

/// As in ChunkedDataset.
struct StoredChunks {
  ChunkLayout layout;
  std::vector<StoredChunk> all;
};

/// The numbers lie at `address`, in chunks, or are here; nowhere, where there are none or their type is `other`. There
/// may be millions, mostly with an address: the others keep elsewhere what only they have.
struct StoredDataset {
  DatasetInfo info;
  bool is_swapped = false;  ///< as in NumberType
  std::optional<std::uint64_t> address;
  std::unique_ptr<StoredChunks> chunks;
  std::unique_ptr<std::vector<unsigned char>> compact;  ///< all of the numbers, as the file has them
  /// The number that its writer named as one that nobody has written, as the file has it; null where none was named.
  std::unique_ptr<std::vector<unsigned char>> fill;
};

struct StoredAttribute {
  std::string name;
  std::string type_name;  ///< empty where the defect comes before the type
  std::int64_t count = 0;
  bool is_integer = false, is_number = false, is_text = false;  ///< what it can be asked for as; a Boolean is no number
  std::vector<std::int64_t> integers;
  std::optional<double> number;
  std::vector<std::string> texts;
  std::unique_ptr<Defect> defect;  ///< whoever asks for the value gets it
};

/// An object of a file, and those below it. Whoever asks for something that has a defect gets that instead.
struct StoredObject {
  std::string name;           ///< in its group
  bool is_described = false;  ///< false: all that is known is the name
  ObjectKind kind = ObjectKind::none;
  std::unique_ptr<Defect> defect;
  std::vector<StoredAttribute> attributes;  ///< in the order of their names
  std::unique_ptr<Defect> attributes_defect;
  std::vector<StoredObject> members;       ///< of a group, in the order of their names, no two alike
  std::unique_ptr<StoredDataset> dataset;  ///< of a dataset
  /// Of either; very many may have the same, of which one is kept (names of axes: HDF5 has no numbers for them).
  std::shared_ptr<const Defect> contents_defect;
};

/// Of an array, or nothing where they do not fit. No element where the shape has a zero, whatever else it has.
std::optional<std::uint64_t> declared_bytes(const std::vector<std::int64_t>& shape, std::uint64_t element_bytes);

/// Whether a file of so many bytes can hold what the dataset declares, in the place where it is said to be: no memory
/// is taken for what cannot be there, whoever described it.
bool can_be_in_file(const StoredDataset& dataset, std::uint64_t file_bytes);

/// Objects that nobody asked for by name are not described where they are datasets of more chunks than this.
inline constexpr std::uint64_t most_chunks_unasked = 1000;

/// Describes `object`, what is in it where `depth` is 1, what is in that where it is 2, ... `next` gives one object
/// after the other, a group before its members; of members it knows the names alone.
void put_together(StoredObject& object, int depth, const std::function<StoredObject()>& next);

}  // namespace smallbatch
