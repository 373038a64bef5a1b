"""A GPU that fails while it computes, and a GPU with no free memory. Both faults are real: a preloaded library causes
them through the driver, at a chosen pwrite() of the process. Needs a GPU."""

import os
import shutil
import subprocess

import pytest

from tests.app.resume_test import CALL, JOURNAL, PART, contents, summary
from tests.app.unfinished_runs import write_problems
from tests.problems import add_solve, open_problem_file

FAILER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static atomic_long writes;

static void* driver_call(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* const call = driver ? dlsym(driver, name) : 0;
  if (!call) abort();
  return call;
}
#define DRIVER(name, ...) ((int (*)(__VA_ARGS__))driver_call(name))
static void must(int status) {
  if (status) fprintf(stderr, "the driver says %d\n", status), abort();
}

// A kernel that stops at a trap: from then on every call of the process to this GPU fails.
static void trap(void) {
  void *module, *kernel;
  must(DRIVER("cuModuleLoadData", void**, const void*)(
      &module, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry fail() { trap; }\n"));
  must(DRIVER("cuModuleGetFunction", void**, void*, const char*)(&kernel, module, "fail"));
  must(DRIVER("cuLaunchKernel", void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
              void**)(kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
  if (!DRIVER("cuCtxSynchronize", void)()) abort();
}
static void take_memory(size_t left) {
  for (size_t piece = (size_t)1 << 33; piece >= (size_t)1 << 20; piece /= 2)
    for (;;) {
      size_t there, all, at;
      must(DRIVER("cuMemGetInfo_v2", size_t*, size_t*)(&there, &all));
      if (there < left + piece || DRIVER("cuMemAlloc_v2", size_t*, size_t)(&at, piece)) break;
    }
}
static void count(void) {
  const char* const at = getenv("FAIL_AT");
  if (atomic_fetch_add(&writes, 1) + 1 != (at ? atol(at) : -1)) return;
  void* context;
  must(DRIVER("cuDevicePrimaryCtxRetain", void**, int)(&context, 0));
  must(DRIVER("cuCtxPushCurrent_v2", void*)(context));
  if (getenv("MEMORY_LEFT")) take_memory(strtoull(getenv("MEMORY_LEFT"), 0, 10)); else trap();
  DRIVER("cuCtxPopCurrent_v2", void**)(&context);
}
__attribute__((destructor)) static void end(void) {
  if (!getenv("COUNT_TO")) return;
  FILE* const file = fopen(getenv("COUNT_TO"), "w");
  fprintf(file, "%ld\n", (long)writes);
  fclose(file);
}
#define CALL(name)                                                              \
  ssize_t name(int file, const void* bytes, size_t size, off_t at) {            \
    static ssize_t (*next)(int, const void*, size_t, off_t);                    \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name);                        \
    count();                                                                    \
    return next(file, bytes, size, at);                                         \
  }
CALL(pwrite)
CALL(pwrite64)
"""
DEVICE_LOST, OUT_OF_MEMORY = 8, 6
ON_GPU = ["cuda:0" if word == "cpu" else word for word in CALL]


@pytest.fixture(scope="module")
def failer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failer")
    (folder / "failer.c").write_text(FAILER)
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "failer.so", folder / "failer.c", "-ldl"], check=True)
    return folder / "failer.so"


def start(smallbatch, arguments, **environment):
    variables = dict(os.environ, **{key: str(value) for key, value in environment.items()})
    done = subprocess.run([smallbatch.program, *arguments], cwd=smallbatch.folder, env=variables, capture_output=True,
                          text=True, timeout=300)
    if done.returncode == 5:
        pytest.skip("there is no GPU")
    return done


def test_a_run_that_lost_its_gpu_is_gone_on_with(smallbatch, tmp_path, failer):
    write_problems(tmp_path / "p.h5")
    counted = tmp_path / "writes"
    done = start(smallbatch, ON_GPU, LD_PRELOAD=failer, COUNT_TO=counted)
    assert done.returncode == 1, done.stderr  # three systems have no solution
    expected, said = contents(tmp_path / "r.h5"), summary(done.stdout)
    for share in (0.3, 0.45, 0.6, 0.7):
        os.remove(tmp_path / "r.h5")
        done = start(smallbatch, ON_GPU, LD_PRELOAD=failer, FAIL_AT=int(share * int(counted.read_text())))
        assert done.returncode == DEVICE_LOST, done.stderr
        assert "a GPU failed while it computed" in done.stderr and "--resume" in done.stderr
        assert not (tmp_path / "r.h5").exists()
        assert (tmp_path / PART).exists() and (tmp_path / JOURNAL).exists()
        done = start(smallbatch, [*ON_GPU, "--resume"])
        assert done.returncode == 1, done.stderr
        assert contents(tmp_path / "r.h5") == expected
        assert summary(done.stdout) == said


def test_memory_that_others_take(smallbatch, tmp_path, failer):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, "first", batch=2000, n=8)
        add_solve(file, "second", batch=30000, n=32)  # 8 blocks of 17 MB
    call = ["run", "p.h5", "-o", "r.h5", "--device", "cuda:0", "--verify", "all"]
    done = start(smallbatch, call)
    assert done.returncode == 0, done.stderr
    expected = contents(tmp_path / "r.h5")
    os.remove(tmp_path / "r.h5")
    codes = []
    for left in (200, 64, 32, 16, 12, 8, 4, 0):
        done = start(smallbatch, call, LD_PRELOAD=failer, FAIL_AT=1, MEMORY_LEFT=left << 20)
        codes.append(done.returncode)
        assert done.stderr.count("The run continues with smaller blocks") <= 1, done.stderr
        if done.returncode == 0:
            assert contents(tmp_path / "r.h5") == expected
            os.remove(tmp_path / "r.h5")
        else:
            assert done.returncode == OUT_OF_MEMORY, (left, done.stderr)
            assert "the GPU's memory does not suffice" in done.stderr
            assert not (tmp_path / "r.h5").exists()
            for name in (PART, JOURNAL):
                (tmp_path / name).unlink(missing_ok=True)
    assert codes[0] == 0 and codes[-1] == OUT_OF_MEMORY
