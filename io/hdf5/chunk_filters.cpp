#include "io/hdf5/chunk_filters.hpp"

#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

namespace smallbatch {
namespace {

constexpr std::size_t checksum_bytes = 4;

using Bytes = AlignedVector<unsigned char>;

std::string bytes_text(std::size_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

/// A stream of zlib that frees its memory.
struct Inflater {
  Inflater() {
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
};

/// Inflates all of `bytes`. Returns true if the result fills `inflated` exactly. libdeflate is three times faster than
/// zlib.
bool inflate_by_libdeflate(const Bytes& bytes, Bytes& inflated) {
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> inflater(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!inflater) throw std::bad_alloc();
  std::size_t taken = 0, made = 0;
  const libdeflate_result result = libdeflate_zlib_decompress_ex(inflater.get(), bytes.data(), bytes.size(),
                                                                 inflated.data(), inflated.size(), &taken, &made);
  return result == LIBDEFLATE_SUCCESS && taken == bytes.size() && made == inflated.size();
}

/// Inflates all of `bytes` by zlib, which can tell what is wrong and where. Returns nothing on success.
std::optional<std::string> inflate_by_zlib(Bytes& bytes, Bytes& inflated) {
  const std::size_t expected = inflated.size();
  constexpr std::size_t most_at_once = std::size_t{1} << 30;  // zlib counts in 32 bits
  const std::string expectation = ", expected " + bytes_text(expected);
  Inflater inflater;
  z_stream& stream = inflater.stream;
  std::size_t taken = 0, made = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    // When all expected bytes are there, the stream must end. Room for one more byte shows if it does not.
    unsigned char spare = 0;
    const bool is_full = made == expected;
    const std::size_t in = std::min(bytes.size() - taken, most_at_once);
    const std::size_t room = is_full ? 1 : std::min(expected - made, most_at_once);
    stream.next_in = bytes.data() + taken;
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = is_full ? &spare : inflated.data() + made;
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t more_taken = in - stream.avail_in, more_made = room - stream.avail_out;
    if (is_full && more_made > 0) return "inflates to more than " + bytes_text(expected) + expectation;
    taken += more_taken;
    made += more_made;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_BUF_ERROR || (status == Z_OK && more_taken + more_made == 0)) {
      return "has a deflate stream that is cut off after inflating to " + bytes_text(made) + expectation;
    }
    if (status != Z_OK && status != Z_STREAM_END) {
      return std::string("has a damaged deflate stream (") + (stream.msg ? stream.msg : "unknown to zlib") +
             ") after " + bytes_text(made) + expectation;
    }
  }
  if (made != expected) return "inflates to " + bytes_text(made) + expectation;
  if (taken != bytes.size())
    return "has " + bytes_text(bytes.size() - taken) + " after its deflate stream, expected none";
  return std::nullopt;
}

std::optional<std::string> inflate_bytes(std::size_t expected, Bytes& bytes) {
  Bytes inflated(expected);
  if (!inflate_by_libdeflate(bytes, inflated)) {
    if (auto wrong = inflate_by_zlib(bytes, inflated)) return wrong;
  }
  bytes = std::move(inflated);
  return std::nullopt;
}

/// Unpacks liblzf's format. A control byte k below 32 precedes k + 1 bytes that are stored as they are. Any other
/// control byte begins a copy of earlier bytes. Its upper three bits are the length; if they are 7, the next byte adds
/// to the length. Its lower five bits and the last byte are the distance.
std::optional<std::string> unpack_lzf(std::size_t expected, Bytes& bytes) {
  Bytes unpacked(expected);
  const auto wrong = [&](const std::string& what, std::size_t made) {
    return "has an LZF stream that " + what + " after " + bytes_text(made) + ", expected " + bytes_text(expected);
  };
  std::size_t made = 0;
  for (std::size_t next = 0; next < bytes.size();) {
    const std::size_t control = bytes[next++];
    if (control < 32) {
      const std::size_t length = control + 1;
      if (length > bytes.size() - next) return wrong("is cut off", made);
      if (length > expected - made) return wrong("overflows its chunk", made);
      std::copy_n(bytes.data() + next, length, unpacked.data() + made);
      next += length;
      made += length;
      continue;
    }
    std::size_t length = (control >> 5) + 2;
    if (bytes.size() - next < (length == 9 ? 2 : 1)) return wrong("is cut off", made);
    if (length == 9) length += bytes[next++];
    const std::size_t distance = ((control & 31) << 8) + bytes[next++] + 1;
    if (distance > made) return wrong("copies from before its beginning", made);
    if (length > expected - made) return wrong("overflows its chunk", made);
    for (std::size_t i = 0; i < length; ++i, ++made)
      unpacked[made] = unpacked[made - distance];  // the copy may overlap its source
  }
  if (made != expected) return wrong("ends", made);
  bytes = std::move(unpacked);
  return std::nullopt;
}

/// Unpacks one frame or several, with or without their sizes in their headers.
std::optional<std::string> unpack_zstandard(std::size_t expected, Bytes& bytes) {
  Bytes unpacked(expected);
  const std::size_t made = ZSTD_decompress(unpacked.data(), unpacked.size(), bytes.data(), bytes.size());
  const std::string expectation = ", expected " + bytes_text(expected);
  if (ZSTD_isError(made)) {
    if (ZSTD_getErrorCode(made) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    return std::string("has a damaged Zstandard stream (") + ZSTD_getErrorName(made) + ")" + expectation;
  }
  if (made != expected) return "has a Zstandard stream of " + bytes_text(made) + expectation;
  bytes = std::move(unpacked);
  return std::nullopt;
}

/// Byte k of element i is from[k * elements + i]. With `ElementBytes` known, the compiler writes several elements at
/// once.
template <std::size_t ElementBytes>
void interleave(const unsigned char* from, std::size_t elements, unsigned char* __restrict to) {
  std::array<const unsigned char*, ElementBytes> planes;
  for (std::size_t byte = 0; byte < ElementBytes; ++byte) planes[byte] = from + byte * elements;
  for (std::size_t i = 0; i < elements; ++i) {
    for (std::size_t byte = 0; byte < ElementBytes; ++byte) to[i * ElementBytes + byte] = planes[byte][i];
  }
}

/// Undoes shuffle, which stores all first bytes of elements, then all second bytes, and so on. Bytes of an incomplete
/// element come last.
void unshuffle(std::size_t element_bytes, Bytes& bytes) {
  const std::size_t elements = element_bytes == 0 ? 0 : bytes.size() / element_bytes;
  if (element_bytes < 2 || elements < 2) return;
  Bytes whole(bytes.size());
  if (element_bytes == 4) {
    interleave<4>(bytes.data(), elements, whole.data());
  } else if (element_bytes == 8) {
    interleave<8>(bytes.data(), elements, whole.data());
  } else {
    for (std::size_t byte = 0; byte < element_bytes; ++byte) {
      const unsigned char* from = bytes.data() + byte * elements;
      for (std::size_t i = 0; i < elements; ++i) whole[i * element_bytes + byte] = from[i];
    }
  }
  const auto left = static_cast<std::ptrdiff_t>(elements * element_bytes);
  std::copy(bytes.begin() + left, bytes.end(), whole.begin() + left);
  bytes = std::move(whole);
}

/// Returns HDF5's checksum: two sums of big-endian 16-bit words, modulo 65535. An odd last byte is the upper half of a
/// word.
std::uint32_t fletcher32(std::span<const unsigned char> bytes) {
  const auto folded = [](std::uint32_t sum) { return (sum & 0xFFFF) + (sum >> 16); };
  std::uint32_t first = 0, second = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    for (const std::size_t end = std::min(bytes.size(), i + 720); i < end;
         i += 2) {  // sums of so few words cannot overflow
      first += static_cast<std::uint32_t>(bytes[i] << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0));
      second += first;
    }
    first = folded(first);
    second = folded(second);
  }
  return folded(second) << 16 | folded(first);
}

/// Takes the checksum off the end, and checks it. HDF5 before 1.6.3 swapped the bytes of each half, so both orders are
/// right.
std::optional<std::string> check_fletcher32(Bytes& bytes) {
  std::uint32_t stored = 0;
  for (std::size_t i = checksum_bytes; i > 0; --i) stored = stored << 8 | bytes[bytes.size() - checksum_bytes + i - 1];
  bytes.resize(bytes.size() - checksum_bytes);
  const std::uint32_t found = fletcher32(bytes);
  const std::uint32_t swapped = (found & 0x00FF00FF) << 8 | (found >> 8 & 0x00FF00FF);
  if (stored == found || stored == swapped) return std::nullopt;
  return "has the Fletcher32 checksum " + std::to_string(found) + ", expected " + std::to_string(stored);
}

}  // namespace

std::uint64_t largest_unpacked_ratio(std::span<const ChunkFilter> filters) {
  std::uint64_t largest = 1;
  for (const ChunkFilter& filter : filters) {
    switch (filter.kind) {
      case ChunkFilter::Kind::deflate:
        largest *= 1032;
        break;
      case ChunkFilter::Kind::lzf:
        largest *= 88;  // 264 bytes from 3
        break;
      case ChunkFilter::Kind::zstandard:
        largest *= 1 << 15;  // a block of 128 KiB from 4 bytes
        break;
      case ChunkFilter::Kind::shuffle:
      case ChunkFilter::Kind::fletcher32:
        break;
    }
  }
  return largest;
}

std::uint64_t largest_stored_bytes(std::span<const ChunkFilter> filters, std::uint64_t expected) {
  std::uint64_t largest = expected;
  for (const ChunkFilter& filter : filters) {
    if (filter.kind == ChunkFilter::Kind::fletcher32) largest += checksum_bytes;
    // No compressing filter makes its input larger than this.
    if (largest_unpacked_ratio({&filter, 1}) > 1) largest += largest / 2 + 1024;
  }
  return largest;
}

std::optional<std::string> undo_filters(std::span<const ChunkFilter> filters, std::uint32_t skipped,
                                        std::size_t expected, Bytes& bytes) {
  if (filters.size() < 32 && skipped >> filters.size() != 0) {
    return "says that it skipped filters that its dataset does not have";
  }
  const auto mismatch = [&](std::size_t wanted) {
    return "has " + bytes_text(bytes.size()) + ", expected " + bytes_text(wanted);
  };
  for (std::size_t i = filters.size(); i > 0; --i) {
    const ChunkFilter& filter = filters[i - 1];
    if ((skipped >> (i - 1) & 1) != 0) continue;
    std::size_t given = expected;  // size of the data to which this filter was applied
    for (std::size_t k = 0; k + 1 < i; ++k) {
      if (filters[k].kind == ChunkFilter::Kind::fletcher32 && (skipped >> k & 1) == 0) given += checksum_bytes;
    }
    std::optional<std::string> wrong;
    switch (filter.kind) {
      case ChunkFilter::Kind::deflate:
        wrong = inflate_bytes(given, bytes);
        break;
      case ChunkFilter::Kind::lzf:
        wrong = unpack_lzf(given, bytes);
        break;
      case ChunkFilter::Kind::zstandard:
        wrong = unpack_zstandard(given, bytes);
        break;
      case ChunkFilter::Kind::shuffle:
        unshuffle(filter.element_bytes, bytes);
        break;
      case ChunkFilter::Kind::fletcher32:
        if (bytes.size() < checksum_bytes) return mismatch(checksum_bytes);
        wrong = check_fletcher32(bytes);
        break;
    }
    if (wrong) return wrong;
  }
  if (bytes.size() != expected) return mismatch(expected);
  return std::nullopt;
}

}  // namespace smallbatch
