#include "io/hdf5/input_driver.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/system_refusals.hpp"
#include "io/hdf5/handles.hpp"

namespace smallbatch {
namespace {

/// Bytes that a thread reads at a time. They are enough to make the cost of a system call small. They are few enough to
/// stay in the core's cache for `examine`. With small pieces, threads that share a block end at nearly the same time.
constexpr std::uint64_t bytes_per_piece = std::uint64_t{1} << 17;

}  // namespace

InputBytes::InputBytes(const std::string& path, unsigned threads) : threads_(thread_count(threads)) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) {
    if (is_want_of_the_system(errno)) throw refused_by_system("read " + path, errno);
    const std::string why = errno == ENOENT ? "no such file). Check the name and the folder."
                                            : std::strerror(errno) + std::string("). Check its name and permissions.");
    throw Error(ErrorKind::missing_file, "cannot read " + path + " (" + why);
  }
  if (::fstat(file_, &opened_) != 0) {
    const int failure = errno;
    ::close(file_);
    throw Error(ErrorKind::missing_file, "cannot read " + path, std::strerror(failure),
                "Check the disk or the network, and run again.");
  }
  if (!S_ISREG(opened_.st_mode)) {
    ::close(file_);
    throw Error(ErrorKind::missing_file, "cannot read " + path,
                std::string("it is ") + (S_ISDIR(opened_.st_mode) ? "a folder" : "no regular file"),
                "Give the name of a file.");
  }
}

InputBytes::~InputBytes() { ::close(file_); }

std::uint64_t InputBytes::size() const noexcept {
  struct stat now {};
  return ::fstat(file_, &now) == 0 ? static_cast<std::uint64_t>(now.st_size) : 0;
}

std::size_t InputBytes::read_piece(const Extent& extent, void* bytes, int& system_error) const noexcept {
  std::size_t found = 0;
  while (found < extent.size) {
    const ssize_t more = ::pread(file_, static_cast<char*>(bytes) + found, extent.size - found,
                                 static_cast<off_t>(extent.address + found));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) system_error = errno;
    if (more <= 0) break;
    found += static_cast<std::size_t>(more);
  }
  return found;
}

void InputBytes::fail(const Failure& failure) noexcept {
  const std::lock_guard lock(failing_);
  if (!failure_) failure_ = failure;
  has_failed_ = true;
}

std::size_t InputBytes::read_some(const Extent& extent, void* bytes) noexcept {
  if (has_failed()) return 0;
  int system_error = 0;
  const std::size_t found = read_piece(extent, bytes, system_error);
  if (system_error != 0) fail({Failure::Kind::system, extent.address + found, size(), system_error});
  return found;
}

void InputBytes::forget_failure() noexcept {
  has_failed_ = false;
  failure_.reset();
}

const InputBytes::Part* InputBytes::read(std::span<Part> parts, unsigned threads) noexcept {
  if (parts.empty()) return nullptr;
  if (has_failed()) return parts.data();
  const auto bytes_per_piece_of = [](const Part& part) {
    return std::max<std::uint64_t>(1, bytes_per_piece / part.bytes_per_row) * part.bytes_per_row;
  };
  std::int64_t pieces = 0;
  std::uint64_t all_bytes = 0;
  for (Part& part : parts) {
    all_bytes += part.extent.size;
    part.first_piece = pieces;
    const std::uint64_t bytes = bytes_per_piece_of(part);
    pieces += static_cast<std::int64_t>(part.extent.size / bytes + (part.extent.size % bytes != 0));
  }
  std::mutex missing_mutex;
  const Part* lacking = nullptr;  // the first part that lacks bytes
  std::uint64_t missing = 0;      // its first missing byte
  int missing_error = 0;          // errno of that read, or 0
  const auto read_one = [&](std::int64_t piece) {
    const Part& part = *std::prev(std::ranges::upper_bound(parts, piece, {}, &Part::first_piece));
    const std::uint64_t bytes = bytes_per_piece_of(part);
    const std::uint64_t begin = static_cast<std::uint64_t>(piece - part.first_piece) * bytes;
    const std::uint64_t size = std::min(bytes, part.extent.size - begin);
    int system_error = 0;
    const std::size_t found =
        read_piece({part.extent.address + begin, size}, static_cast<char*>(part.into) + begin, system_error);
    if (found == size) {
      if (part.examine) part.examine(begin, begin + size);
      return;
    }
    const std::lock_guard lock(missing_mutex);
    if (lacking && (lacking < &part || (lacking == &part && missing <= begin + found))) return;
    lacking = &part;
    missing = begin + found;
    missing_error = system_error;
  };
  const auto read_from = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t piece = first; piece < last; ++piece) read_one(piece);
  };
  // There is at most one thread per piece, because a thread with less to read would wake too late to help.
  const auto useful = static_cast<unsigned>(std::clamp<std::uint64_t>(all_bytes / bytes_per_piece, 1, threads));
  parallel_for(pieces, 1, useful, std::ref(read_from));
  if (lacking)
    fail({missing_error != 0 ? Failure::Kind::system : Failure::Kind::end_of_file, lacking->extent.address + missing,
          size(), missing_error});
  return lacking;
}

bool InputBytes::check_unchanged() noexcept {
  if (has_failed()) return false;
  struct stat now {};
  const bool is_known = ::fstat(file_, &now) == 0;
  if (is_known && now.st_size == opened_.st_size && now.st_mtim.tv_sec == opened_.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == opened_.st_mtim.tv_nsec) {
    return true;
  }
  const auto size = static_cast<std::uint64_t>(now.st_size);
  fail({is_known && now.st_size < opened_.st_size ? Failure::Kind::end_of_file : Failure::Kind::change, size, size, 0});
  return false;
}

bool InputBytes::lock() noexcept {
  while (::flock(file_, LOCK_SH | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    is_locked_elsewhere_ = errno == EWOULDBLOCK;
    break;
  }
  return !is_locked_elsewhere_;
}

std::string InputBytes::why() const {
  const std::string byte = std::to_string(failure_->address);
  switch (failure_->kind) {
    case Failure::Kind::system:
      return "reading byte " + byte + " failed: " + std::strerror(failure_->system_error);
    case Failure::Kind::end_of_file:
      return "the file is truncated: expected byte " + byte + ", found a size of " +
             std::to_string(failure_->file_size) + " bytes";
    case Failure::Kind::change:
      break;
  }
  return "the file was changed while it was read";
}

std::string InputBytes::remedy() const {
  switch (failure_->kind) {
    case Failure::Kind::system:
      if (failure_->system_error == ENOMEM) return "End other programs, and run again.";
      return "Check the disk or the network, and run again.";
    case Failure::Kind::end_of_file:
      return "Copy it again or write it anew, and let nothing write to it while it is read.";
    case Failure::Kind::change:
      break;
  }
  return "Let nothing write to it meanwhile, and run again.";
}

ErrorKind InputBytes::kind() const {
  if (failure_->system_error == ENOMEM) return ErrorKind::out_of_memory;
  return failure_->kind == Failure::Kind::system ? ErrorKind::missing_file : ErrorKind::bad_input;
}

bool has_hdf5_signature(InputBytes& file) noexcept {
  constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
  for (std::uint64_t address = 0; address <= INT64_MAX; address = address == 0 ? 512 : 2 * address) {
    std::array<unsigned char, 8> found{};
    if (file.read_some({address, found.size()}, found.data()) < found.size()) return false;
    if (found == signature) return true;
  }
  return false;
}

namespace {

/// HDF5 uses only the base class. If HDF5 cannot close a file, this object and its bytes stay in memory.
struct DriverFile : H5FD_t {
  std::shared_ptr<InputBytes> bytes;
  haddr_t allocated = 0;  ///< the end of the space that HDF5 has assigned
};

DriverFile& of(H5FD_t* file) { return *static_cast<DriverFile*>(file); }
const DriverFile& of(const H5FD_t* file) { return *static_cast<const DriverFile*>(file); }

constexpr herr_t status(bool succeeded) { return succeeded ? 0 : -1; }

H5FD_t* open_file(const char*, unsigned flags, hid_t access, haddr_t) {
  const auto* bytes = static_cast<const std::shared_ptr<InputBytes>* const*>(H5Pget_driver_info(access));
  if (!bytes || (flags & H5F_ACC_RDWR) != 0) return nullptr;
  auto* opened = new (std::nothrow) DriverFile{};
  if (!opened) push_hdf5_memory_error(__func__);
  if (!opened) return nullptr;
  opened->bytes = **bytes;
  return opened;
}

herr_t read_file(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t size, void* into) {
  InputBytes& bytes = *of(file).bytes;
  if (bytes.located && type == H5FD_MEM_DRAW) {
    *bytes.located = {address, size};
    return 0;
  }
  return status(bytes.read({address, size}, into, 1));
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
  driver.name = "smallbatch_input";
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(const std::shared_ptr<InputBytes>*);
  driver.open = open_file;
  driver.close = [](H5FD_t* file) -> herr_t {
    delete &of(file);
    return 0;
  };
  driver.query = [](const H5FD_t*, unsigned long* features) -> herr_t {
    if (features) *features = H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
  };
  driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return of(file).allocated; };
  driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t address) -> herr_t {
    of(file).allocated = address;
    return 0;
  };
  driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return static_cast<haddr_t>(of(file).bytes->size()); };
  driver.read = read_file;
  driver.write = [](H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) -> herr_t { return -1; };
  driver.lock = [](H5FD_t* file, hbool_t) { return status(of(file).bytes->lock()); };
  driver.unlock = [](H5FD_t*) -> herr_t { return 0; };  // closing the descriptor releases the lock
  constexpr H5FD_mem_t free_lists[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(free_lists), std::end(free_lists), std::begin(driver.fl_map));
  return driver;
}

}  // namespace

std::int64_t use_input_driver(std::int64_t access, const std::shared_ptr<InputBytes>& file) {
  static const H5FD_class_t driver = driver_class();  // HDF5 keeps the pointer
  const hid_t registered = H5FDregister(&driver);
  const auto* info = &file;
  if (registered >= 0 && H5Pset_driver(access, registered, &info) < 0) {
    H5FDunregister(registered);
    return -1;
  }
  return registered;
}

}  // namespace smallbatch
