# SPDX-License-Identifier: Apache-2.0
# `make` lists the targets. Everything generated goes below build/.
VM_SHELL := $(filter-out SHELL=,$(filter SHELL=%,$(MAKEOVERRIDES)))
override SHELL := /bin/bash
PRESET ?= sim
IMAGE ?= build/drive.nand
BOARD ?= ecpix5
PYTHON := .venv/bin/python
ENV := . tools/env.sh &&

# a value as one word of a shell
quoted = '$(subst ','\'',$(1))'

.DEFAULT_GOAL := help
.PHONY: help setup verilog drive-build run drive vfio vm wave lint format synth area formal mutants campaign test docs block bench powercut soak dram bitstream paths clean

help: ## list the targets
	@grep -hE '^[a-z][a-z0-9_-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Debian packages, .venv with pinned versions, Maven artifacts (under 1 s when nothing is missing)
	@tools/setup.sh

verilog: setup ## generate every SpinalHDL block of PRESET into build/PRESET/verilog
	@tools/verilog.sh $(PRESET)

drive-build: setup ## build the simulated drive of PRESET: SoC, firmware, simulator, NBD plugin
	@$(ENV) tools/drive_build.sh $(PRESET)

run: setup ## the whole drive on real input: file system, power cut, transactions, commit latency
	@$(ENV) tools/drive_build.sh sim && python tools/run.py

drive: setup ## serve the drive on build/otx.sock (NBD: drive, atomic) and build/otx.cmd (commands) until interrupted; PRESET=sim IMAGE=build/drive.nand
	@$(ENV) tools/drive_build.sh $(PRESET) && exec python tools/drive.py $(PRESET) $(IMAGE)

vfio: setup ## serve the drive with NVMe as a PCI device by vfio-user (QEMU 10.1 and later) on build/otx.vfio until interrupted; IMAGE=build/nvme.nand
	@$(ENV) tools/drive_build.sh nvme untrained && exec python tools/vfio.py $(if $(filter file,$(origin IMAGE)),build/nvme.nand,$(IMAGE))

vm: setup ## a virtual machine with Debian's kernel whose disk is the drive: its acceptance; SHELL=1: a console; CMD='...': one command
	@$(ENV) tools/drive_build.sh nvme untrained && exec python -m tools.vm $(if $(VM_SHELL),shell,$(if $(CMD),command $(call quoted,$(CMD))))

wave: setup ## record commits of 1 to 1,000 entries; FST, GTKWave save file and a table read back from the FST
	@$(ENV) tools/drive_build.sh sim && python tools/wave_commits.py

bench: setup ## benchmarks: E=e1 for one of them; table, build/bench/ID.json and ID.png
	@$(ENV) python tools/bench.py $(E)

lint: setup ## Verilator, ruff, compiler warnings
	@tools/verilog.sh tiny && $(ENV) tools/lint.sh

format: setup ## Python, SystemVerilog, Scala, C and C++ as ruff, verible, scalafmt and clang-format have them
	@$(ENV) tools/format.sh

synth: setup ## every HDL block through Yosys; LUT, FF and memories of each
	@tools/verilog.sh tiny && $(ENV) python tools/synth_smoke.py

area: setup ## blocks alone placed and routed on ECP5-85F, and counted for Artix-7; BLOCK=otx_remap_engine for one (minutes each)
	@$(ENV) python tools/area.py --xilinx $(BLOCK)

formal: setup ## the proofs of `make test`; all tasks at full depth: make campaign C=proofs
	@tools/verilog.sh tiny && $(ENV) tools/formal.sh

mutants: setup ## each one-line mutation must be killed by its test or proof; SINCE=commit for those whose files changed since
	@$(ENV) python tools/mutants.py $(if $(SINCE),--since $(SINCE))

campaign: setup ## what is longer than `make test`, as items on Dask: C=name ITEMS=n SEED=1 SCHEDULER=tcp://host:port; without C the list
	@$(ENV) python tools/campaign.py $(C) $(if $(SEED),--seed $(SEED)) $(if $(ITEMS),--items $(ITEMS)) $(if $(SCHEDULER),--scheduler $(SCHEDULER))

powercut: setup ## power cuts: CUT=1234 replays one of enumerated_cuts.py with a waveform; CUTS=2000 SEED=1 at random; DRIVE=tiny, quick, small, rich, wide
ifdef CUT
	@$(ENV) tools/drive_build.sh $(or $(DRIVE),tiny) && python cocotb_tests/system/enumerated_cuts.py --preset $(or $(DRIVE),tiny) $(if $(SEED),--seed $(SEED)) --only $(CUT) --wave
else
	@$(ENV) tools/drive_build.sh $(or $(DRIVE),small) library && python cocotb_tests/system/power_cut.py --preset $(or $(DRIVE),small) --cuts $(or $(CUTS),2000) --seed $(or $(SEED),1)
endif

soak: setup ## the remap engine alone: OPS=5000000 random operations, SEED=1; goes on where it was stopped
	@$(ENV) python cocotb_tests/system/soak.py --ops $(or $(OPS),5000000) --seed $(or $(SEED),1)

test: setup ## all tests; the last line is "N passed, M failed"; T=group for one group of them
	@$(ENV) python tools/test_all.py $(T)

block: setup ## the tests of one block: T=test_skid, WAVES=1 for waveforms, SEED=n
	@$(ENV) python tools/block.py $(T)

docs: setup ## the pages as a site: build/docs/site; broken links fail
	@$(ENV) tools/docs.sh

dram: setup ## the drive of preset tiny over LiteDRAM, levelled by the board's firmware (minutes)
	@$(ENV) python tools/dram.py

bitstream: setup ## synthesise, place and route for BOARD; build/BOARD/report.json; SEEDS="1 2 3 4": a table of these placements
	@$(ENV) python soc/boards $(BOARD) $(if $(SEEDS),--seeds $(SEEDS))

paths: setup ## the longest paths of the ECPIX-5's netlist, before any placement, with guessed wires
	@$(ENV) python soc/boards ecpix5 --netlist && $(ENV) python -m tools.long_paths build/ecpix5/gateware/ecpix5.json ecpix5

clean: ## remove everything generated except the packages
	rm -rf build
