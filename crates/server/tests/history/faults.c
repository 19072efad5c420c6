/* A disk that fails, for a program that is started with LD_PRELOAD.
 *
 * FAULT_DIR  files below it are on that disk
 * FAULT      "<operation> <number> <failure>": the operation of that number, counted from 1, fails
 *
 *   write 5 EIO          nothing is written
 *   write 5 TORN         half of it is written, and the call fails with EIO
 *   write 5 SHORT        half of it is written, and the call says so: no failure at all
 *   write 5 FULL         ENOSPC, from then on
 *   allocate 2 FULL      the same, for new files and their space
 *   sync 5 EIO
 *   read 5 EIO
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static char operation[16], failure[16];
static const char *directory;
static atomic_long left;

/* The one call that does not go through the C library: without it space is made by ftruncate. */
static void refuse_fallocate(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        perror("faults: fallocate cannot be refused");
        _exit(99);
    }
}

__attribute__((constructor)) static void plan(void) {
    const char *fault = getenv("FAULT");
    long number;
    directory = getenv("FAULT_DIR");
    if (!fault || !directory || sscanf(fault, "%15s %ld %15s", operation, &number, failure) != 3) {
        return;
    }
    atomic_store(&left, number);
    refuse_fallocate();
}

static int is_ours(const char *path) {
    return directory && strncmp(path, directory, strlen(directory)) == 0;
}

/* Whether this operation is the one, or after it where that stays so. */
static int fails(const char *name, int file) {
    if (strcmp(operation, name) != 0) {
        return 0;
    }
    if (file >= 0) {
        char link[64], path[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length < 0) {
            return 0;
        }
        path[length] = 0;
        if (!is_ours(path)) {
            return 0;
        }
    }
    long count = atomic_fetch_sub(&left, 1);
    return strcmp(failure, "FULL") == 0 ? count <= 1 : count == 1;
}

static int fail(void) {
    errno = strcmp(failure, "FULL") == 0 ? ENOSPC : EIO;
    return -1;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    if (!fails("write", file)) {
        return REAL(pwrite64)(file, bytes, count, offset);
    }
    int is_torn = strcmp(failure, "TORN") == 0;
    if (is_torn || (strcmp(failure, "SHORT") == 0 && count > 1)) {
        ssize_t half = REAL(pwrite64)(file, bytes, count / 2, offset);
        return is_torn ? fail() : half;
    }
    return fail();
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
    return fails("read", file) ? fail() : REAL(pread64)(file, bytes, count, offset);
}

int fdatasync(int file) {
    return fails("sync", file) ? fail() : REAL(fdatasync)(file);
}

int fsync(int file) {
    return fails("sync", file) ? fail() : REAL(fsync)(file);
}

int ftruncate64(int file, off64_t length) {
    return fails("allocate", file) ? fail() : REAL(ftruncate64)(file, length);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    if ((flags & O_CREAT) && is_ours(path) && fails("allocate", -1)) {
        return fail();
    }
    return REAL(open64)(path, flags, mode);
}
