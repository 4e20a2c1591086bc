// SPDX-License-Identifier: Apache-2.0
// Words for errors; those of the drive's statuses are of soc/facts.toml.
#include "otx.h"

const char *otx_words(int error) {
    switch (error) {
#define OTX_ONE(name, number, words, posix) \
    case number: return words;
        OTX_STATUSES(OTX_ONE)
#undef OTX_ONE
        case OTX_ERROR_CONNECT: return "no drive there";
        case OTX_ERROR_CLOSED: return "the drive has closed the connection";
        case OTX_ERROR_PROTOCOL: return "what came is no answer of a drive";
        case OTX_ERROR_ARGUMENT: return "wrong argument";
        case OTX_ERROR_FULL: return "32 commands are under way already";
        case OTX_ERROR_MEMORY: return "no memory";
        case OTX_ERROR_TIMEOUT: return "no answer within the time";
        default: return "unknown status";
    }
}
