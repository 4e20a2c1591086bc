# SPDX-License-Identifier: Apache-2.0
"""How blocks are driven and watched: builds, streams, memories, ports.

What is true is in models/, which knows nothing of this.
"""
