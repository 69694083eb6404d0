/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board "virt" of qemu, for tests of the port: virt.c defines its devices. The program in the image
 * defines bare_board_main, bare_board_fault, bare_board_halt and bare_virt_idle. bare_board_reset may be
 * called again: no line is pending afterwards, and time begins at 0.
 */
#ifndef BARE_VIRT_H
#define BARE_VIRT_H

#include <stdint.h>

/* DRAM above the image, for the program: qemu has 128 MiB unless it is given another size. */
#define BARE_VIRT_MEMORY       0x42000000ull
#define BARE_VIRT_MEMORY_BYTES 0x06000000ull
/* No device and no memory of the map is here. */
#define BARE_VIRT_NOTHING 0xa0000000ull

/* A wait that nothing will end: no line is pending and the timer is off. */
_Noreturn void bare_virt_idle(void);

/* Ends qemu with that status, through semihosting. */
_Noreturn void bare_virt_exit(uint64_t status);

#endif
