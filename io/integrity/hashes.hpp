// XXH3 of bytes: of an input as a whole, of results in pieces. Private to io/ and app/.
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

/// Of bytes as they come, of any number of them.
class Hash {
 public:
  explicit Hash(HashBits bits);
  ~Hash();
  Hash(Hash&&) noexcept;
  Hash& operator=(Hash&&) noexcept;
  void add(const void* bytes, std::size_t count);
  /// 16 or 32 hexadecimal digits, as other programs that know XXH3 write them.
  [[nodiscard]] std::string digits() const;
  /// What 16 of them say.
  [[nodiscard]] std::uint64_t number() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of an array; the last one may be shorter.
inline constexpr std::uint64_t bytes_per_hashed_piece = std::uint64_t{1} << 20;

/// Where in the array a piece begins.
constexpr std::uint64_t begin_of_piece(std::size_t piece) { return piece * bytes_per_hashed_piece; }

/// The hash of each piece of an array that is written in parts. Parts in which a piece's own bytes come in their order
/// make its hash; what else becomes of the others is missing, to be read again.
class PieceHashes {
 public:
  PieceHashes() = default;
  explicit PieceHashes(std::uint64_t bytes);
  /// Bytes [first, first + count), which are within the array.
  void add(std::uint64_t first, std::uint64_t count, const void* bytes);
  [[nodiscard]] std::size_t count() const;
  /// How many bytes a piece has.
  [[nodiscard]] std::uint64_t size_of(std::size_t piece) const;
  [[nodiscard]] bool is_missing(std::size_t piece) const { return !hash_of(piece); }
  /// What becomes known of a missing one: its bytes, all of them.
  void set(std::size_t piece, const void* bytes);
  /// 16 of each; empty where it is missing.
  [[nodiscard]] std::string digits(std::size_t piece) const;

 private:
  /// A piece whose first bytes have come.
  struct Begun {
    Hash hash{HashBits::of_64};
    std::uint64_t next = 0;  ///< its byte that has to come next
  };
  void add_to(std::size_t piece, std::uint64_t first, std::uint64_t count, const char* bytes);

  /// What few arrays need: there may be millions of them.
  struct Parts {
    std::vector<std::optional<std::uint64_t>> hashes;  ///< of all pieces but the first
    std::set<std::size_t> lost;                        ///< pieces whose bytes came in another order, or twice
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

/// XXH3 of these bytes, 64 bits.
std::uint64_t hash_number(const void* bytes, std::size_t count);
/// 16 digits of these bytes.
std::string hash_digits(const void* bytes, std::size_t count);
/// The digits of a hash of 64 bits.
std::string hash_digits(std::uint64_t hash);
/// And back; nothing where it is no such text.
std::optional<std::uint64_t> parse_hash_digits(const std::string& text);

}  // namespace smallbatch
