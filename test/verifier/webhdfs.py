"""Reads HDFS through the NameNodes' WebHDFS with nothing but Python's library: no code of Staunch, none of Hadoop's client.

A place is webhdfs://HOST:PORT[,HOST:PORT]/PATH (HTTP addresses of the NameNodes of a pair), or hdfs://NAME/PATH when HDFS_WEB has those
addresses. The NameNode that answered last is asked first: one that was stopped while the other took over says for a moment longer that it
is active, and what it knows is old."""
import http.client, json, os, threading, time, urllib.parse


class Away(OSError):
    """No NameNode or DataNode answered within the patience."""


def is_place(text):
    return text.startswith(("hdfs://", "webhdfs://"))


class WebHDFS:
    def __init__(self, place, patience=120.0, timeout=5.0):
        scheme, rest = place.split("://", 1)
        host, _, path = rest.partition("/")
        addresses = host if scheme == "webhdfs" else os.environ.get("HDFS_WEB", "")
        if not addresses:
            raise SystemExit("HDFS_WEB is not set: HTTP addresses of the NameNodes, host:port,host:port")
        self.nodes, self.at = addresses.split(","), 0
        self.root = "/" + path.strip("/")
        self.patience, self.timeout = patience, timeout
        self.local = threading.local()  # connections of each thread
        self.tries = 0  # calls that had to be made again

    def _get(self, address, target):
        kept = self.local.__dict__.setdefault("kept", {})
        c = kept.get(address) or http.client.HTTPConnection(address, timeout=self.timeout)
        kept[address] = c
        try:
            c.request("GET", target)
            r = c.getresponse()
            return r.status, r.read()
        except (OSError, http.client.HTTPException):
            kept.pop(address).close()
            raise

    def call(self, path, op, **parameters):
        """Asks the pair until one that is active answers; gives the answer, FileNotFoundError or Away."""
        query = urllib.parse.urlencode(dict(parameters, op=op))
        target = "/webhdfs/v1" + urllib.parse.quote(path) + "?" + query
        end = time.monotonic() + self.patience
        at = self.at
        while True:
            try:
                status, body = self._get(self.nodes[at], target)
                if status == 200:
                    self.at = at
                    return json.loads(body)
                problem = json.loads(body)["RemoteException"]
                if problem["exception"] == "FileNotFoundException":
                    self.at = at
                    raise FileNotFoundError(path)
            except FileNotFoundError:
                raise
            except (OSError, http.client.HTTPException, ValueError, KeyError) as e:
                problem = {"exception": type(e).__name__, "message": str(e)}
            if time.monotonic() > end:
                raise Away("%s %s: %s: %.200s" % (op, path, problem["exception"], problem["message"]))
            self.tries += 1
            at = (at + 1) % len(self.nodes)
            time.sleep(0.1)

    def files(self, below=None):
        """Gives path -> length of each file below a folder; {} when there is no such folder."""
        found, folders = {}, [below or self.root]
        while folders:
            folder = folders.pop()
            try:
                entries = self.call(folder, "LISTSTATUS")["FileStatuses"]["FileStatus"]
            except FileNotFoundError:
                continue
            for e in entries:
                path = folder.rstrip("/") + "/" + e["pathSuffix"]
                if not e["pathSuffix"]:  # the place is a file itself
                    found[folder] = e["length"]
                elif e["type"] == "DIRECTORY":
                    folders.append(path)
                else:
                    found[path] = e["length"]
        return found

    def read(self, path):
        """Gives a file's bytes, from whichever DataNode the NameNode names."""
        end = time.monotonic() + self.patience
        while True:
            to = urllib.parse.urlsplit(self.call(path, "OPEN", noredirect="true")["Location"])
            try:
                status, body = self._get(to.netloc, to.path + "?" + to.query)
                if status == 200:
                    return body
                problem = "%d: %.300s" % (status, body)
                if b"FileNotFoundException" in body:  # it went after the NameNode was asked, which the next call says
                    end = min(end, time.monotonic() + 5)
            except (OSError, http.client.HTTPException) as e:
                problem = repr(e)
            if time.monotonic() > end:
                raise Away("%s from %s: %s" % (path, to.netloc, problem))
            self.tries += 1
            time.sleep(0.1)

    def copy(self, folder):
        """Copies all that is there into a local folder. A file that cannot be read is left out and named in the result. One that a dead
        writer left open has no length yet and often no bytes, and is copied empty."""
        left = {}
        for path, length in self.files().items():
            to = os.path.join(folder, os.path.relpath(path, self.root))
            os.makedirs(os.path.dirname(to), exist_ok=True)
            try:
                data = self.read(path) if length else b""
            except OSError as e:
                left[path] = str(e)
                continue
            if len(data) != length:
                left[path] = "%d bytes, listed with %d" % (len(data), length)
            with open(to, "wb") as h:
                h.write(data)
        return left
