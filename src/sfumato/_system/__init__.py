"""What differs between operating systems, one module for each thing, at the bottom of the house.

    locks         keep other processes from a file, or from a few bytes of it
    disk          what must reach the disk, and be read and written at a place of a file
    permissions   who may read a file
    processes     forks, limits and memory of a process

Nothing above asks which system it runs on, and nothing above imports a module that only POSIX has. Where a
system cannot keep a promise (`docs/windows.md`), the module that would make it says so.
"""
