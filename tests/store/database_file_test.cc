#include "daemon/store/database_file.h"

#include <gtest/gtest.h>

namespace puzzled {
namespace {

TEST(NetworkFileSystemTest, KnownByNumber) {
  EXPECT_EQ(network_file_system(0x6969, ""), "NFS");
  EXPECT_EQ(network_file_system(0x517b, ""), "SMB");
  EXPECT_EQ(network_file_system(0xff534d42, ""), "CIFS");
  EXPECT_EQ(network_file_system(0xfe534d42, ""), "SMB2");
  EXPECT_EQ(network_file_system(0x5346414f, ""), "AFS");
  EXPECT_EQ(network_file_system(0x0bd00bd0, ""), "Lustre");
  EXPECT_EQ(network_file_system(0x47504653, ""), "GPFS");
  EXPECT_EQ(network_file_system(0x00c36400, ""), "Ceph");
  EXPECT_EQ(network_file_system(0x01021997, ""), "9p");
}

TEST(NetworkFileSystemTest, LocalOnesAreNot) {
  for (const std::uint64_t magic :
       {0xef53U /* ext4 */, 0x58465342U /* xfs */, 0x9123683eU /* btrfs */, 0x01021994U /* tmpfs */,
        0x794c7630U /* overlay */, 0x2fc12fc1U /* zfs */}) {
    EXPECT_EQ(network_file_system(magic, ""), std::nullopt) << magic;
    EXPECT_EQ(network_file_system(magic, "fuse.sshfs"), std::nullopt) << magic;
  }
}

TEST(NetworkFileSystemTest, FuseIsToldApartByMountType) {
  EXPECT_EQ(network_file_system(0x65735546, "fuse.sshfs"), "sshfs");
  EXPECT_EQ(network_file_system(0x65735546, "fuse.glusterfs"), "glusterfs");
  EXPECT_EQ(network_file_system(0x65735546, "fuse.fuse-overlayfs"), std::nullopt);
  EXPECT_EQ(network_file_system(0x65735546, "fuseblk"), std::nullopt);
  EXPECT_EQ(network_file_system(0x65735546, ""), std::nullopt);
}

TEST(MountTypeTest, FoundByDeviceNumber) {
  const char* text =
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "40 22 0:45 / /home/me rw,nosuid shared:9 master:3 - fuse.sshfs me@host: rw,user_id=0\n"
      "41 22 0:4 / /proc rw - proc proc rw\n";
  EXPECT_EQ(mount_type(text, 0, 45), "fuse.sshfs");
  EXPECT_EQ(mount_type(text, 254, 0), "ext4");
  EXPECT_EQ(mount_type(text, 0, 4), "proc");
  EXPECT_EQ(mount_type(text, 9, 9), "");
  EXPECT_EQ(mount_type("0:4 -", 0, 4), "");
}

}  // namespace
}  // namespace puzzled
