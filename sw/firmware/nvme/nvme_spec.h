/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of NVM Express base specification 1.4, as far as administration needs them. */
#ifndef NVME_SPEC_H
#define NVME_SPEC_H

/* Admin opcodes (section 5). */
enum nvme_admin {
    NVME_DELETE_SQ = 0x00,
    NVME_CREATE_SQ = 0x01,
    NVME_GET_LOG_PAGE = 0x02,
    NVME_DELETE_CQ = 0x04,
    NVME_CREATE_CQ = 0x05,
    NVME_IDENTIFY = 0x06,
    NVME_ABORT = 0x08,
    NVME_SET_FEATURES = 0x09,
    NVME_GET_FEATURES = 0x0a,
    NVME_ASYNC_EVENT = 0x0c,
    NVME_DIRECTIVE_SEND = 0x19,
    NVME_DIRECTIVE_RECEIVE = 0x1a,
    NVME_FORMAT = 0x80,
};

/* Bit 14 of a status (enum nvme_status of otx_facts.h): the same command would end so again. */
#define NVME_DO_NOT_RETRY 0x4000u

/* Controller configuration and status (section 3.1). */
#define NVME_CC_EN(cc) ((cc) & 1u)
#define NVME_CC_CSS(cc) ((cc) >> 4 & 7u)
#define NVME_CC_MPS(cc) ((cc) >> 7 & 15u)
#define NVME_CC_AMS(cc) ((cc) >> 11 & 7u)
#define NVME_CC_SHN(cc) ((cc) >> 14 & 3u)
#define NVME_CC_IOSQES(cc) ((cc) >> 16 & 15u) /* of an entry, as a power of two */
#define NVME_CC_IOCQES(cc) ((cc) >> 20 & 15u)
#define NVME_CSTS_RDY 1u
#define NVME_CSTS_CFS 2u
#define NVME_CSTS_SHUTTING 4u
#define NVME_CSTS_SHUT 8u

/* Identify: CNS (section 5.15.1). */
enum nvme_cns {
    NVME_CNS_NAMESPACE = 0x00,
    NVME_CNS_CONTROLLER = 0x01,
    NVME_CNS_ACTIVE = 0x02,
    NVME_CNS_DESCRIPTORS = 0x03,
};

/* Log pages (section 5.14.1). */
enum nvme_log {
    NVME_LOG_ERRORS = 0x01,
    NVME_LOG_SMART = 0x02,
    NVME_LOG_FIRMWARE = 0x03,
    NVME_LOG_EFFECTS = 0x05,
    NVME_LOG_DRIVE = 0xc0, /* ours: nvme_log_drive.c */
};

/* Features (section 5.21.1). */
enum nvme_feature {
    NVME_FEATURE_ARBITRATION = 0x01,
    NVME_FEATURE_POWER = 0x02,
    NVME_FEATURE_TEMPERATURE = 0x04,
    NVME_FEATURE_ERROR_RECOVERY = 0x05,
    NVME_FEATURE_WRITE_CACHE = 0x06,
    NVME_FEATURE_QUEUES = 0x07,
    NVME_FEATURE_COALESCING = 0x08,
    NVME_FEATURE_VECTOR = 0x09,
    NVME_FEATURE_ATOMICITY = 0x0a,
    NVME_FEATURE_EVENTS = 0x0b,
};

#define NVME_ALL_NAMESPACES 0xffffffffu

/* Asynchronous events (section 5.2): type in 2:0, information in 15:8, log page in 23:16. */
#define NVME_EVENT_ERROR 0u
#define NVME_EVENT_PERSISTENT 3u /* of the drive itself, and of no one command */
#define NVME_EVENT_SMART 1u
#define NVME_EVENT_RELIABILITY 0u
#define NVME_EVENT_SPARE 2u

/* SMART: critical warnings, bits (section 5.14.1.2). */
#define NVME_WARNING_SPARE 1u
#define NVME_WARNING_RELIABILITY 4u
#define NVME_WARNING_READ_ONLY 8u

#endif
