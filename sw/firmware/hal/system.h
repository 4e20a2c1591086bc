/* SPDX-License-Identifier: Apache-2.0 */
/* Included by LiteX' generated csr.h, which takes nothing from it here. */
#ifndef SYSTEM_H
#define SYSTEM_H
#endif
