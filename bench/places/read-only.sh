# Runs a command where nothing can be written but the folder /data, and there is no /tmp: read-only.sh <application> <data>
# <node> <shm or none> <command …>. The application is at /application, node at /node. Needs root.
set -e
application=$1 data=$2 node=$3 shm=$4
shift 4
new=$(dirname "$data")/root
mkdir -p "$new"
mount -t tmpfs none "$new"
for name in usr lib lib64 bin sbin etc; do
  if [ -L "/$name" ]; then cp -P "/$name" "$new/$name"
  elif [ -d "/$name" ]; then mkdir "$new/$name" && mount --bind "/$name" "$new/$name" && mount -o remount,bind,ro "$new/$name"
  fi
done
mkdir "$new/application" "$new/data" "$new/node" "$new/proc" "$new/dev"
mount --bind "$application" "$new/application" && mount -o remount,bind,ro "$new/application"
mount --bind "$(dirname "$node")" "$new/node" && mount -o remount,bind,ro "$new/node"
mount --bind "$data" "$new/data"
mount --rbind /proc "$new/proc"
for name in null zero urandom random; do touch "$new/dev/$name" && mount --bind "/dev/$name" "$new/dev/$name"; done
if [ "$shm" = shm ]; then mkdir "$new/dev/shm" && mount -t tmpfs none "$new/dev/shm"; fi
mount -o remount,ro "$new"
exec chroot "$new" "$@"
