/* SPDX-License-Identifier: Apache-2.0 */
/* Included before all else that the host tests compile: how many map pages a directory has is a variable, so that small
 * drives have several directories. sim_new() makes it what a drive has. */
#ifndef DIRECTORIES_H
#define DIRECTORIES_H

#include <stdint.h>

extern uint32_t sim_directory_pages;
#define FTL_DIRECTORY_PAGES sim_directory_pages

#endif
