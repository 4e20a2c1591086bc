# SPDX-License-Identifier: Apache-2.0
"""libotx.so of a preset, the simulated drive in C, by ctypes.

sim/otx_sim.h is its contract; whoever wants a drive takes `opentxssd.Drive`.
"""

import ctypes
import os
from pathlib import Path

from opentxssd.commands import DriveError

# of a package that was installed with `pip install -e` or is on PYTHONPATH
REPOSITORY = (Path(__file__).resolve().parent / "../../../..").resolve()


class Cmd(ctypes.Structure):
    """`struct otx_cmd`."""

    _fields_ = [
        (n, ctypes.c_uint8)
        for n in "opcode tag txid has_tx fua commit relaxed barrier orderless order priority".split()
    ]
    _fields_ += [
        ("count", ctypes.c_uint16),
        ("stream", ctypes.c_uint16),
        ("lba", ctypes.c_uint32),
        ("arg", ctypes.c_uint32),
    ]


class Cpl(ctypes.Structure):
    """`struct otx_cpl`."""

    _fields_ = [
        ("tag", ctypes.c_uint8),
        ("status", ctypes.c_uint8),
        ("result", ctypes.c_uint32),
        ("blocks", ctypes.c_uint32),
        ("clock", ctypes.c_uint64),
    ]


def find(preset, name="libotx.so", folder=None):
    """The path of a file of a preset's build.

    `folder` holds it, if given. Else it is in $OTX_BUILD/<preset>, if OTX_BUILD is set. Else in build/<preset> of the
    repository that this package is in, or of the current directory. DriveError says where it was looked for.
    """
    if folder is not None:
        places = [Path(folder)]
    elif os.environ.get("OTX_BUILD"):
        places = [Path(os.environ["OTX_BUILD"]) / preset]
    else:
        places = [REPOSITORY / "build" / preset, Path.cwd() / "build" / preset]
    for place in places:
        if (place / name).is_file():
            return place.absolute() / name
    raise DriveError(
        f"preset {preset} is not built: no {name} in {' or '.join(map(str, dict.fromkeys(places)))}; run make "
        f"drive-build PRESET={preset}"
    )


def _host_port(lib):
    """What only a drive has that takes commands at its core's host port."""
    lib.otx_stop_data.argtypes = [ctypes.c_uint8, ctypes.c_uint32, ctypes.c_int]
    lib.otx_stop_data.restype = None
    lib.otx_submit.argtypes = [ctypes.POINTER(Cmd), ctypes.c_void_p]
    lib.otx_poll.argtypes = [ctypes.POINTER(Cpl)]


def _nvme(lib):
    """What only a drive with the NVMe front end has (sim/otx_nvme_sim.h)."""
    u64, u32 = ctypes.c_uint64, ctypes.c_uint32
    lib.otx_bar_write.argtypes = [u32, u64, ctypes.c_uint8]
    lib.otx_bar_read.argtypes = [u32]
    lib.otx_bar_answer.argtypes = [ctypes.POINTER(u64)]
    lib.otx_host_map.argtypes = [u64, ctypes.c_void_p, u64]
    lib.otx_host_hold.argtypes = [u64, u64]
    lib.otx_host_message.argtypes = [ctypes.POINTER(u64), ctypes.POINTER(u32)]
    lib.otx_msix_control.argtypes = [ctypes.c_int, ctypes.c_int]
    lib.otx_host_faults.restype = lib.otx_host_seen.restype = u64
    for name in ("bar_write", "bar_read", "host_map", "host_unmap", "host_hold", "msix_control", "function_reset"):
        getattr(lib, f"otx_{name}").restype = None


def load(preset, trace=False, folder=None):
    """The C library with its types declared, the one that can record signals if `trace`; DriveError if it is not built
    or cannot be loaded.
    """
    path = find(preset, "libotx_trace.so" if trace else "libotx.so", folder)
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as e:
        raise DriveError(str(e)) from e
    lib.otx_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    lib.otx_boot.argtypes = lib.otx_close.argtypes = lib.otx_power_cut.argtypes = [ctypes.c_uint64]
    lib.otx_step.argtypes = [ctypes.c_uint64]
    if hasattr(lib, "otx_submit"):
        _host_port(lib)
    else:
        _nvme(lib)
    lib.otx_trace.argtypes = [ctypes.c_char_p]
    lib.otx_clock.restype = lib.otx_rests.restype = ctypes.c_uint64
    lib.otx_commands.restype = ctypes.c_uint32
    lib.otx_lbas.restype = lib.otx_tx_entries.restype = lib.otx_clock_ps.restype = ctypes.c_uint32
    lib.otx_uart.restype = lib.otx_preset.restype = ctypes.c_char_p
    lib.otx_nand_under_way.argtypes = [ctypes.c_uint32]
    lib.otx_power_fail.argtypes = [ctypes.c_uint64]
    lib.otx_power_fail.restype = ctypes.c_int64
    lib.otx_power_on.restype = lib.otx_power_cut.restype = None
    return lib


def open_image(lib, image=None, firmware=None):
    """Opens the drive on an image file, or in memory.

    DriveError with the library's one line of words; the file is then untouched.
    """
    message = ctypes.create_string_buffer(400)
    if lib.otx_open(image and str(image).encode(), firmware and str(firmware).encode(), message, len(message)):
        raise DriveError(message.value.decode())
