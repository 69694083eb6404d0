/* SPDX-License-Identifier: Apache-2.0 */
/* An answer is kept: cpuid is slow where a hypervisor executes it. Threads that ask at once find the same. */
#include "base/processor.h"

#include <sched.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>

bool base_processor_has_f16c(void)
{
    static atomic_int answer; /* 0 not asked, 1 no, 2 yes */
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    unsigned a, b, c, d;

    if (!known) {
        /* Not every compiler knows f16c by name. */
        known = __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C ? 2 : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 2;
}

bool base_processor_has_sha256(void)
{
    static atomic_int answer;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    unsigned a, b, c, d;

    if (!known) {
        known = __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA
                    ? 2
                    : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 2;
}
#else
bool base_processor_has_f16c(void)
{
    return false;
}

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

bool base_processor_has_sha256(void)
{
    return getauxval(AT_HWCAP) & HWCAP_SHA2;
}
#else
bool base_processor_has_sha256(void)
{
    return false;
}
#endif
#endif

unsigned base_processor_count(void)
{
    cpu_set_t usable;
    int count = sched_getaffinity(0, sizeof(usable), &usable) ? 1 : CPU_COUNT(&usable);

    return count > 1 ? (unsigned)count : 1;
}
