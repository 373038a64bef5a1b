// libxxhash is used as a header, so that nothing links to the library.
#include "io/integrity/hashes.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "core/usable_kernels.hpp"
#include "io/integrity/hashes_compiled.hpp"

namespace smallbatch {

constinit const HashFunctions hashes_baseline = compiled_hashes;

namespace {

/// Returns the fastest functions that this processor can run.
const HashFunctions& hashes() {
  if constexpr (built_for_x86_64) {
    static const HashFunctions& quickest = processor_has_avx512() ? hashes_avx512
                                           : processor_has_avx2() ? hashes_avx2
                                                                  : hashes_baseline;
    return quickest;
  } else {
    return hashes_baseline;
  }
}

constexpr std::size_t digits_of_64 = 16;

/// Limit on the number of partly hashed pieces. Each takes a few hundred bytes of memory.
constexpr std::size_t most_begun = 4096;

std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string digits(2 * bytes.size(), '\0');
  for (std::size_t k = 0; k < digits.size(); ++k)
    digits[k] = "0123456789abcdef"[k % 2 == 0 ? bytes[k / 2] >> 4 : bytes[k / 2] & 15];
  return digits;
}

}  // namespace

struct Hash::State {
  HashBits bits;
  XXH3_state_t xxh3;
};

Hash::Hash(HashBits bits) : state_(std::make_unique<State>()) {
  state_->bits = bits;
  bits == HashBits::of_64 ? XXH3_64bits_reset(&state_->xxh3) : XXH3_128bits_reset(&state_->xxh3);
}
Hash::~Hash() = default;
Hash::Hash(Hash&&) noexcept = default;
Hash& Hash::operator=(Hash&&) noexcept = default;

void Hash::add(const void* bytes, std::size_t count) {
  (state_->bits == HashBits::of_64 ? hashes().add_to_64 : hashes().add_to_128)(&state_->xxh3, bytes, count);
}

std::string Hash::digits() const {
  if (state_->bits == HashBits::of_64) return hash_digits(number());
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state_->xxh3));
  return hexadecimal(bytes.digest);
}

std::uint64_t Hash::number() const { return XXH3_64bits_digest(&state_->xxh3); }

std::string hash_digits(std::uint64_t hash) {
  XXH64_canonical_t bytes;
  XXH64_canonicalFromHash(&bytes, hash);
  return hexadecimal(bytes.digest);
}
std::string hash_digits(const void* bytes, std::size_t count) { return hash_digits(hash_number(bytes, count)); }

std::optional<std::uint64_t> parse_hash_digits(const std::string& text) {
  std::uint64_t hash = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, hash, 16);
  if (text.size() != digits_of_64 || failure != std::errc() || stopped != end) return std::nullopt;
  return hash;
}

std::uint64_t hash_number(const void* bytes, std::size_t count) { return hashes().of_64(bytes, count); }

PieceHashes::PieceHashes(std::uint64_t bytes) : bytes_(bytes) {
  if (count() > 1) parts_ = std::make_unique<Parts>(Parts{decltype(Parts::hashes)(count() - 1), {}, {}});
}

std::size_t PieceHashes::count() const { return (bytes_ + bytes_per_hashed_piece - 1) / bytes_per_hashed_piece; }

std::uint64_t PieceHashes::size_of(std::size_t piece) const {
  return std::min(bytes_per_hashed_piece, bytes_ - begin_of_piece(piece));
}

void PieceHashes::add(std::uint64_t first, std::uint64_t count, const void* bytes) {
  for (const char* next = static_cast<const char*>(bytes); count > 0;) {
    const std::size_t piece = first / bytes_per_hashed_piece;
    const std::uint64_t here = std::min(count, begin_of_piece(piece) + size_of(piece) - first);
    add_to(piece, first - begin_of_piece(piece), here, next);
    first += here;
    count -= here;
    next += here;
  }
}

void PieceHashes::add_to(std::size_t piece, std::uint64_t first, std::uint64_t count, const char* bytes) {
  const bool is_untouched =
      is_missing(piece) && !(parts_ && (parts_->lost.contains(piece) || parts_->begun.contains(piece)));
  if (count == size_of(piece) && is_untouched) return set(piece, bytes);
  if (!parts_) parts_ = std::make_unique<Parts>();
  auto& [hashes, lost, begun] = *parts_;
  if (lost.contains(piece)) return;
  auto found = begun.find(piece);
  if (found == begun.end() && first == 0 && is_missing(piece) && begun.size() < most_begun)
    found = begun.try_emplace(piece).first;
  if (found == begun.end() || found->second.next != first) {
    lost.insert(piece);
    hash_of(piece).reset();
    if (found != begun.end()) begun.erase(found);
    return;
  }
  found->second.hash.add(bytes, count);
  found->second.next += count;
  if (found->second.next < size_of(piece)) return;
  hash_of(piece) = found->second.hash.number();
  begun.erase(found);
}

void PieceHashes::set(std::size_t piece, const void* bytes) { hash_of(piece) = hash_number(bytes, size_of(piece)); }

std::string PieceHashes::digits(std::size_t piece) const {
  return is_missing(piece) ? std::string() : hash_digits(*hash_of(piece));
}

}  // namespace smallbatch
