# SPDX-License-Identifier: Apache-2.0
# Sourced behind steps.sh by the scripts that put ext4 on the drive, or let fio verify what it has written.
m=/mnt/drive
mkdir -p $m

tree() { # some files of this machine, 4 MiB
  mkdir -p "$1" && cp -a /usr/share/perl/5*/unicore/lib "$1/" && cp -a /usr/include/linux "$1/"
}

make() { mkfs.ext4 -q -F $disk && mount -o discard $disk $m; }
copy() { tree /tmp/tree && cp -a /tmp/tree $m/ && sync; }
check() { umount $m && e2fsck -fn $disk; }
same() { mount $disk $m && diff -r /tmp/tree $m/tree && rm -r $m/tree && umount $m && e2fsck -fn $disk; }

job() { # job DEPTH ENGINE FILE ARGUMENTS
  fio --name=job --filename="$3" --ioengine="$2" --iodepth="$1" --direct=$([[ $3 == "$char" ]]; echo $?) --bs=4k \
    --size=4M --offset=8M --verify=crc32c --verify_fatal=1 --do_verify=1 --randseed="$1" --verify_state_save=0 "${@:4}"
}
