"""Keeps the snapshots of scripts/prove-on-gpu, compressed, in tar files of moderate size."""
import io
import json
import lzma
import pathlib
import re
import tarfile
import threading

VOLUME = 12 << 20  # bytes after which the next file starts


class Archive:
    """FOLDER/snapshots-1.tar, -2.tar ...: each snapshot as NAME.pickle.xz, its result as NAME.json.

    May be used from several threads. Every file is complete after each addition.
    """

    def __init__(self, folder):
        self.folder, self.lock = pathlib.Path(folder), threading.Lock()
        self.number, self.size = 0, VOLUME

    def add(self, name, result):
        """Adds the snapshot of a run and its facts; returns where it is stored."""
        packed = lzma.compress(pathlib.Path(result["snapshot"]).read_bytes(), preset=4)
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", name)
        about = {key: value for key, value in result.items() if key not in ("snapshot", "verify")}
        text = (json.dumps(about, indent=1) + "\n").encode()
        with self.lock:
            if self.size + len(packed) > VOLUME:
                self.number, self.size = self.number + 1, 0
            path = self.folder / f"snapshots-{self.number}.tar"
            with tarfile.open(path, "w" if self.size == 0 else "a") as tar:
                for suffix, data in ((".pickle.xz", packed), (".json", text)):
                    member = tarfile.TarInfo(name + suffix)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
            self.size += len(packed) + len(text)
        return f"{path.name}:{name}"
