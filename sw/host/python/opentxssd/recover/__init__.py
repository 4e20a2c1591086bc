# SPDX-License-Identifier: Apache-2.0
"""What can be said about a drive by its image alone, when the drive itself is read-only or closed: `otx-recover IMAGE`
(opentxssd.recover.command). Only reads. Nothing here needs the simulator.
"""
