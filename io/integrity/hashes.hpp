// XXH3 hashes: of an input file as a whole, and of result files in pieces. Private to io/ and app/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace smallbatch {

enum class HashBits { of_64, of_128 };

/// Hash of a stream of bytes.
class Hash {
 public:
  explicit Hash(HashBits bits);
  ~Hash();
  Hash(Hash&&) noexcept;
  Hash& operator=(Hash&&) noexcept;
  void add(const void* bytes, std::size_t count);
  /// Returns 16 or 32 hexadecimal digits, in the order that other programs with XXH3 use.
  [[nodiscard]] std::string digits() const;
  /// Returns the number that the 16 digits of a 64-bit hash stand for.
  [[nodiscard]] std::uint64_t number() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Size of a hashed piece of an array. The last piece may be shorter.
inline constexpr std::uint64_t bytes_per_hashed_piece = std::uint64_t{1} << 20;

/// Returns the offset of a piece in its array, in bytes.
constexpr std::uint64_t begin_of_piece(std::size_t piece) { return piece * bytes_per_hashed_piece; }

/// Hashes of the pieces of an array that is written part by part. If the bytes of a piece come in order, they are
/// hashed as they come. Otherwise the hash of the piece is missing, and the piece must be read again.
class PieceHashes {
 public:
  PieceHashes() = default;
  explicit PieceHashes(std::uint64_t bytes);
  /// Adds bytes [first, first + count) of the array.
  void add(std::uint64_t first, std::uint64_t count, const void* bytes);
  [[nodiscard]] std::size_t count() const;
  /// Returns the number of bytes in a piece.
  [[nodiscard]] std::uint64_t size_of(std::size_t piece) const;
  [[nodiscard]] bool is_missing(std::size_t piece) const { return !hash_of(piece); }
  /// Sets a missing hash from all bytes of its piece.
  void set(std::size_t piece, const void* bytes);
  /// Returns the 16 digits of a hash, or an empty text if the hash is missing.
  [[nodiscard]] std::string digits(std::size_t piece) const;

 private:
  /// A piece that has received its first bytes, but not all of them.
  struct Begun {
    Hash hash{HashBits::of_64};
    std::uint64_t next = 0;  ///< the next bytes must begin at this offset in the piece
  };
  void add_to(std::size_t piece, std::uint64_t first, std::uint64_t count, const char* bytes);

  /// State that few arrays need. It is allocated separately, because there may be millions of arrays.
  struct Parts {
    std::vector<std::optional<std::uint64_t>> hashes;  ///< of all pieces except the first
    std::set<std::size_t> lost;                        ///< pieces that received bytes out of order, or twice
    std::map<std::size_t, Begun> begun;
  };
  [[nodiscard]] const std::optional<std::uint64_t>& hash_of(std::size_t piece) const {
    return piece == 0 ? first_ : parts_->hashes[piece - 1];
  }
  std::optional<std::uint64_t>& hash_of(std::size_t piece) { return piece == 0 ? first_ : parts_->hashes[piece - 1]; }

  std::uint64_t bytes_ = 0;
  std::optional<std::uint64_t> first_;  ///< of the first piece
  std::unique_ptr<Parts> parts_;
};

/// Returns the 64-bit XXH3 of these bytes.
std::uint64_t hash_number(const void* bytes, std::size_t count);
/// Returns the hash of these bytes as 16 digits.
std::string hash_digits(const void* bytes, std::size_t count);
/// Returns a 64-bit hash as 16 digits.
std::string hash_digits(std::uint64_t hash);
/// Parses 16 digits. Returns nothing for any other text.
std::optional<std::uint64_t> parse_hash_digits(const std::string& text);

}  // namespace smallbatch
