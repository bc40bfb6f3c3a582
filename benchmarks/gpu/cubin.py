# SPDX-License-Identifier: Apache-2.0
"""What nvcc has left in an object file: the chips it compiled for, and of each kernel the registers, shared memory, stack and how many
instructions of double precision.

An object carries one fat binary: a header, then entries of a header and a body, one for each chip (an ELF file) or virtual chip (PTX). The
ELF file's section .nv.info holds records (kind, attribute, length, value): 0x2f registers and 0x11 bytes of stack, each after the number
of the kernel's symbol. Local memory and spills are stack. An instruction has 16 bytes, the lowest nine bits are its kind. NVIDIA documents
none of this; tests/emu/built.py compares what is read here with what ptxas says and with kernels of known arithmetic, and the counts
were those of NVIDIA's disassembler on every kernel of spread, gather, solve, excluded and bonded for all chips (CUDA 13.0)."""
import struct

MAGIC = 0xBA55ED50
PTX, ELF = 1, 2
REGISTERS, STACK = 0x2F, 0x11
COMPRESSED = 0xA000  # flags: either way of compressing
DOUBLE = {0x28, 0x29, 0x2A, 0x2B}  # multiply, add, compare, multiply-add of double precision, sm_70 and later


class unreadable(Exception):
    pass


def images(path):
    """[(kind, chip, body)] of an object; the body of a compressed entry is None."""
    with open(path, "rb") as f:
        data = f.read()
    found, at = [], 0
    while True:
        at = data.find(struct.pack("<I", MAGIC), at)
        if at < 0:
            return found
        header, size = struct.unpack_from("<HQ", data, at + 6)
        at, end = at + header, at + header + size
        while at < end:
            kind, _, header, size = struct.unpack_from("<HHIQ", data, at)
            chip, = struct.unpack_from("<I", data, at + 28)
            flags, = struct.unpack_from("<Q", data, at + 40)
            if kind not in (PTX, ELF) or header < 48 or at + header + size > end:
                raise unreadable("%s: a fat binary of another form" % path)
            found.append((kind, chip, None if flags & COMPRESSED else data[at + header:at + header + size]))
            at += header + size


def sections(elf):
    """[(name, kind, bytes or size where it has none)]"""
    table, = struct.unpack_from("<Q", elf, 0x28)
    number, names = struct.unpack_from("<HH", elf, 0x3C)
    raw = [struct.unpack_from("<IIQQQQ", elf, table + 64 * i) for i in range(number)]

    def text(offset):
        begin = raw[names][4] + offset
        return elf[begin:elf.index(b"\0", begin)].decode()

    return [(text(r[0]), r[1], r[5] if r[1] == 8 else elf[r[4]:r[4] + r[5]]) for r in raw]


def kernels(elf):
    """{mangled name: {registers, shared, stack, doubles, code}}; code: instructions, with what fills its end"""
    parts = sections(elf)
    content = {name: body for name, _, body in parts}
    symbols, strings = content[".symtab"], content[".strtab"]

    def symbol(number):
        begin, = struct.unpack_from("<I", symbols, 24 * number)
        return strings[begin:strings.index(b"\0", begin)].decode()

    found = {name[6:]: {"registers": 0, "shared": 0, "stack": 0, "code": len(code) // 16, "doubles": sum(struct.unpack_from("<H", code, at)[0] & 0x1FF in DOUBLE for at in range(0, len(code), 16))}
             for name, _, code in parts if name.startswith(".text.")}
    # what the system keeps of each block's shared memory is in the sizes of some chips: it is no demand of the kernel
    reserved = 1024 if ".nv.shared.reserved.0" in content else 0
    for name, size in content.items():
        if name.startswith(".nv.shared.") and name[11:] in found:
            found[name[11:]]["shared"] = size - reserved
    info, at = content.get(".nv.info", b""), 0
    while at < len(info):
        kind, attribute, length = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind != 4:  # the value is in the place of the length
            continue
        if attribute in (REGISTERS, STACK):
            number, value = struct.unpack_from("<II", info, at)
            if symbol(number) in found:
                found[symbol(number)]["registers" if attribute == REGISTERS else "stack"] = value
        at += length
    return found
