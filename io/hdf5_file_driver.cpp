#include "io/hdf5_file_driver.hpp"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>

#include "io/hdf5_handles.hpp"

namespace smallbatch {
namespace {

/// HDF5 sees the first member alone.
struct DriverFile {
  H5FD_t hdf5{};
  int file = -1;
  haddr_t allocated = 0, end = 0;  ///< HDF5's end of what it has given out, and the file's own end
  FileFailure* failure = nullptr;

  /// Keeps the first failure; false, for the caller to report.
  [[nodiscard]] bool fail(int system_error) const {
    if (failure->system_error == 0) failure->system_error = system_error ? system_error : EIO;
    return false;
  }
  [[nodiscard]] bool failed() const { return failure->system_error != 0; }

  bool write(haddr_t address, std::size_t size, const char* bytes) {
    end = std::max(end, address + size);
    while (size > 0 && !failed()) {
      const ssize_t written = ::pwrite(file, bytes, size, static_cast<off_t>(address));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return fail(errno);
      const auto count = static_cast<std::size_t>(written);
      bytes += count;
      size -= count;
      address += count;
    }
    return true;
  }

  /// What lies beyond the end, or was dropped, reads as zeros.
  bool read(haddr_t address, std::size_t size, char* bytes) const {
    while (size > 0) {
      const ssize_t found = ::pread(file, bytes, size, static_cast<off_t>(address));
      if (found < 0 && errno == EINTR) continue;
      if (found < 0) return fail(errno);
      if (found == 0) {
        std::memset(bytes, 0, size);
        return true;
      }
      const auto count = static_cast<std::size_t>(found);
      bytes += count;
      size -= count;
      address += count;
    }
    return true;
  }

  bool truncate() {
    if (!failed() && end != allocated && ::ftruncate(file, static_cast<off_t>(allocated)) != 0) return fail(errno);
    end = allocated;
    return true;
  }
};

DriverFile& of(H5FD_t* file) { return *reinterpret_cast<DriverFile*>(file); }
const DriverFile& of(const H5FD_t* file) { return *reinterpret_cast<const DriverFile*>(file); }

constexpr herr_t status(bool succeeded) { return succeeded ? 0 : -1; }

H5FD_t* open_file(const char* name, unsigned flags, hid_t access, haddr_t) {
  const auto* info = static_cast<FileFailure* const*>(H5Pget_driver_info(access));
  auto* opened = new (std::nothrow) DriverFile;
  if (!info || !opened) {
    delete opened;
    return nullptr;
  }
  opened->failure = *info;
  opened->file = ::open(name, O_RDWR | O_CLOEXEC | ((flags & H5F_ACC_TRUNC) ? O_TRUNC : 0));
  const off_t end = opened->file < 0 ? -1 : ::lseek(opened->file, 0, SEEK_END);
  if (end < 0) {
    (void)opened->fail(errno);
    if (opened->file >= 0) ::close(opened->file);
    delete opened;
    return nullptr;
  }
  opened->end = static_cast<haddr_t>(end);
  return &opened->hdf5;
}

herr_t close_file(H5FD_t* file) {
  if (::close(of(file).file) != 0) (void)of(file).fail(errno);
  delete &of(file);
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
  driver.name = "smallbatch";
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(FileFailure*);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = [](const H5FD_t*, unsigned long* features) -> herr_t {
    if (features) {
      *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
                  H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    }
    return 0;
  };
  driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return of(file).allocated; };
  driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t address) -> herr_t {
    of(file).allocated = address;
    return 0;
  };
  driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return of(file).end; };
  driver.read = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* bytes) {
    return status(of(file).read(address, size, static_cast<char*>(bytes)));
  };
  driver.write = [](H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* bytes) {
    return status(of(file).write(address, size, static_cast<const char*>(bytes)));
  };
  driver.truncate = [](H5FD_t* file, hid_t, hbool_t) { return status(of(file).truncate()); };
  constexpr H5FD_mem_t free_lists[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(free_lists), std::end(free_lists), std::begin(driver.fl_map));
  return driver;
}

}  // namespace

std::int64_t use_file_driver(std::int64_t access, FileFailure* failure) {
  static const H5FD_class_t driver = driver_class();  // HDF5 keeps the pointer
  const hid_t registered = H5FDregister(&driver);
  if (registered >= 0 && H5Pset_driver(access, registered, &failure) < 0) {
    H5FDunregister(registered);
    return -1;
  }
  return registered;
}

}  // namespace smallbatch
