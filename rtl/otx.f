// SPDX-License-Identifier: Apache-2.0
// Every synthesised SystemVerilog file, relative to the repository root. This is the only list.
rtl/ecc/otx_bch_pkg.sv
rtl/ecc/otx_page_pkg.sv
rtl/ecc/otx_bch_chien.sv
rtl/ecc/otx_bch_decoder.sv
rtl/ecc/otx_bch_encoder.sv
rtl/ecc/otx_bch_hits.sv
rtl/ecc/otx_bch_kes.sv
rtl/ecc/otx_bch_share.sv
rtl/ecc/otx_bch_syndrome.sv
rtl/ecc/otx_gf_multiply.sv
rtl/stream/otx_fifo.sv
rtl/stream/otx_skid.sv
rtl/nand/otx_crc32.sv
rtl/nand/otx_nand_arbiter.sv
rtl/nand/otx_nand_bus.sv
rtl/nand/otx_nand_channel.sv
rtl/nand/otx_nand_corrector.sv
rtl/nand/otx_nand_ecc.sv
rtl/nand/otx_nand_oob.sv
rtl/nand/otx_nand_pack.sv
rtl/nand/otx_nand_scrambler.sv
rtl/nand/otx_nand_script.sv
rtl/nand/otx_nand_times.sv
rtl/nand/otx_nand_turn.sv
rtl/nand/otx_nand_unpack.sv
rtl/nand/otx_nand_way.sv
