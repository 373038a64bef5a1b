#include "io/hdf5/file_driver.hpp"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "core/parallel.hpp"
#include "io/hdf5/handles.hpp"

namespace smallbatch {
namespace {

/// Bytes that a thread writes at a time. They are enough to make the cost of a system call negligible.
constexpr std::int64_t bytes_per_piece = std::int64_t{4} << 20;
constexpr std::uint64_t bytes_per_allocation = std::uint64_t{32} << 20;

}  // namespace

bool OutputBytes::fail(int system_error) noexcept {
  int none = 0;
  system_error_.compare_exchange_strong(none, system_error != 0 ? system_error : EIO);
  return false;
}

bool OutputBytes::open(const std::string& path, bool truncate) noexcept {
  file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (truncate && !keeps_bytes_ ? O_TRUNC : 0));
  return file_ >= 0 || fail(errno);
}

void OutputBytes::allocate(std::uint64_t size) noexcept {
  const auto allocate_all = [this, size] {
    // Allocates in steps, so that other threads can write in between.
    for (std::uint64_t begin = 0; begin < size && !is_closing_ && system_error_ == 0; begin += bytes_per_allocation) {
      const std::uint64_t count = std::min(bytes_per_allocation, size - begin);
      if (::fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin), static_cast<off_t>(count)) == 0) continue;
      if (errno == ENOSPC || errno == EDQUOT) (void)fail(errno);
      return;
    }
  };
  try {
    allocating_ = std::thread(allocate_all);
  } catch (const std::exception&) {
    allocating_ = {};  // without the thread, each write allocates its own bytes
  }
}

bool OutputBytes::close() noexcept {
  is_closing_ = true;
  if (allocating_.joinable()) allocating_.join();
  if (file_ < 0 || ::close(std::exchange(file_, -1)) == 0) return true;
  return fail(errno);
}

bool OutputBytes::write_piece(std::uint64_t address, std::uint64_t size, const char* bytes) noexcept {
  while (size > 0 && system_error_ == 0) {
    const ssize_t written = ::pwrite(file_, bytes, size, static_cast<off_t>(address));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail(errno);
    const auto count = static_cast<std::size_t>(written);
    bytes += count;
    size -= count;
    address += count;
  }
  return true;
}

bool OutputBytes::write(std::uint64_t address, std::uint64_t size, const void* bytes) noexcept {
  if (size <= bytes_per_piece) return write_piece(address, size, static_cast<const char*>(bytes));
  std::atomic<bool> is_written = true;
  const auto write_from = [&](std::int64_t first, std::int64_t last) {
    const auto begin = static_cast<std::uint64_t>(first), count = static_cast<std::uint64_t>(last - first);
    if (!write_piece(address + begin, count, static_cast<const char*>(bytes) + begin)) is_written = false;
  };
  parallel_for(static_cast<std::int64_t>(size), bytes_per_piece, threads_,
               std::ref(write_from));  // a reference allocates nothing
  return is_written;
}

bool OutputBytes::read(std::uint64_t address, std::uint64_t size, void* bytes) noexcept {
  for (auto* into = static_cast<char*>(bytes); size > 0;) {
    const ssize_t found = ::pread(file_, into, size, static_cast<off_t>(address));
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return fail(errno);
    if (found == 0) {
      std::memset(into, 0, size);
      return true;
    }
    const auto count = static_cast<std::size_t>(found);
    into += count;
    size -= count;
    address += count;
  }
  return true;
}

bool OutputBytes::resize(std::uint64_t size) noexcept {
  return system_error_ != 0 || ::ftruncate(file_, static_cast<off_t>(size)) == 0 || fail(errno);
}

bool OutputBytes::flush() noexcept {
  return system_error_ == 0 && (::fsync(file_) == 0 || errno == EINVAL || errno == EROFS || fail(errno));
}

std::uint64_t OutputBytes::size() noexcept {
  const off_t end = ::lseek(file_, 0, SEEK_END);
  if (end < 0) (void)fail(errno);
  return end < 0 ? 0 : static_cast<std::uint64_t>(end);
}

namespace {

/// HDF5 uses the first member alone.
struct DriverFile {
  H5FD_t hdf5{};
  OutputBytes* bytes = nullptr;
  haddr_t given = 0, end = 0;  ///< the ends of the space that HDF5 has assigned, and of the bytes that it has written
};

DriverFile& of(H5FD_t* file) { return *reinterpret_cast<DriverFile*>(file); }
const DriverFile& of(const H5FD_t* file) { return *reinterpret_cast<const DriverFile*>(file); }

constexpr herr_t status(bool succeeded) { return succeeded ? 0 : -1; }

H5FD_t* open_file(const char* name, unsigned flags, hid_t access, haddr_t) {
  const auto* bytes = static_cast<OutputBytes* const*>(H5Pget_driver_info(access));
  auto* opened = bytes ? new (std::nothrow) DriverFile : nullptr;
  if (bytes && !opened) push_hdf5_memory_error(__func__);
  if (!opened || !(*bytes)->open(name, (flags & H5F_ACC_TRUNC) != 0)) {
    delete opened;
    return nullptr;
  }
  opened->bytes = *bytes;
  // HDF5 must see an empty file when it begins a new one.
  const bool begins = opened->bytes->keeps_bytes() && (flags & H5F_ACC_TRUNC) != 0;
  opened->end = begins ? 0 : opened->bytes->size();
  return &opened->hdf5;
}

herr_t write_file(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* bytes) {
  of(file).end = std::max(of(file).end, address + size);
  of(file).bytes->by_hdf5().add({address, size}, bytes);
  return status(of(file).bytes->write(address, size, bytes));
}

/// Gives the file the size that HDF5 wants. A file that keeps its bytes is never shortened, because the run may stop
/// before the file is complete again.
herr_t truncate_file(H5FD_t* file, hid_t, hbool_t) {
  DriverFile& opened = of(file);
  const std::uint64_t size = opened.bytes->size();
  const bool resizes = size < opened.given || (size > opened.given && !opened.bytes->keeps_bytes());
  if (resizes && !opened.bytes->resize(opened.given)) return status(false);
  opened.end = opened.given;
  return status(true);
}

/// Closes the file. A failure is stored, and not reported to HDF5, which could not close the file then.
herr_t close_file(H5FD_t* file) {
  (void)of(file).bytes->close();
  delete &of(file);
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
  driver.name = "smallbatch";
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(OutputBytes*);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = [](const H5FD_t*, unsigned long* features) -> herr_t {
    // HDF5 gets no sieve buffer and no accumulator of metadata. Both read more than was asked for, and write it back
    // later. That would overwrite numbers that were written without HDF5.
    if (features)
      *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
  };
  driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) -> haddr_t { return of(file).given; };
  driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t address) -> herr_t {
    if (address < of(file).given) of(file).bytes->by_hdf5().forget({address, of(file).given - address});
    of(file).given = address;
    return 0;
  };
  driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return of(file).end; };
  driver.read = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* bytes) {
    return status(of(file).bytes->read(address, size, bytes));
  };
  driver.write = write_file;
  driver.truncate = truncate_file;
  constexpr H5FD_mem_t free_lists[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(free_lists), std::end(free_lists), std::begin(driver.fl_map));
  return driver;
}

}  // namespace

std::int64_t use_file_driver(std::int64_t access, OutputBytes* file) {
  static const H5FD_class_t driver = driver_class();  // HDF5 keeps the pointer
  const hid_t registered = H5FDregister(&driver);
  if (registered >= 0 && H5Pset_driver(access, registered, &file) < 0) {
    H5FDunregister(registered);
    return -1;
  }
  return registered;
}

}  // namespace smallbatch
