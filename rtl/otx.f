// SPDX-License-Identifier: Apache-2.0
// Every synthesised SystemVerilog file, relative to the repository root. This is the only list.
rtl/stream/otx_skid.sv
rtl/nand/otx_crc32.sv
rtl/nand/otx_nand_arbiter.sv
rtl/nand/otx_nand_bus.sv
rtl/nand/otx_nand_channel.sv
rtl/nand/otx_nand_oob.sv
rtl/nand/otx_nand_pack.sv
rtl/nand/otx_nand_script.sv
rtl/nand/otx_nand_sequencer.sv
rtl/nand/otx_nand_unpack.sv
rtl/nand/otx_nand_way.sv
