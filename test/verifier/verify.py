#!/usr/bin/env python3
"""Verifies a table that Staunch wrote, from the outside: usage verify.py [--fast] TABLE, or verify.py [--fast] --certificate FILE COPY for the copy
of one partition, by the certificate that was exported for it.

TABLE is a folder, or a place on HDFS as webhdfs.py says, which is copied to a temporary folder first. Written from docs/design/08-audit.md and the commit protocol alone, for Python 3.8 and later without other packages (with xxhash it is quicker). Prints one JSON object:
{"table", "verdict", "jobs": [...], "problems": [{"kind", "what", ...}]}. Exit code 1 if anything is wrong, 2 if the call is.
"""
import base64, hashlib, json, os, re, stat, struct, sys, tempfile

import webhdfs, xxh128

TEMPORARY = '/_DUMP_TEMPORARY/'
OURS = re.compile(r'part-[0-9a-f]{8}-\d+-\d+-\d+-\d+-[0-9a-f]{24}\..*')
KINDS = ('claim', 'certificate', 'done', 'partition', 'accept', 'segment', 'keep', 'supersede', 'rewound', 'repair', 'amend')


class Damaged(Exception):
    pass


class Newer(Damaged):
    pass


# ---- bytes ----------------------------------------------------------------------------------------------------------------------------

SUMS = {'xxh128': xxh128.hasher, 'sha256': hashlib.sha256}


def sums_of(f):
    """Gives the checksums that are recorded of the file."""
    if not all(isinstance(f.get(kind), (str, type(None))) for kind in SUMS):
        raise Damaged('a checksum that is no text')
    return [(kind, f[kind]) for kind in SUMS if f.get(kind)]


def recorded(f):
    """Reports whether a checksum of the file is recorded at all."""
    return bool(sums_of(f))


def uvarint(b, at):
    value = shift = 0
    while True:
        if at >= len(b) or shift > 63:
            raise Damaged('varint')
        value |= (b[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if not b[at - 1] & 128:
            return value, at


def decode_set(text):
    """Gives the set as ascending disjoint runs [from, to)."""
    try:
        b = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise Damaged('set is not base64')
    runs = []
    if b[:1] == b'\x01':
        n, at = uvarint(b, 1)
        end = 0
        for i in range(n):
            gap, at = uvarint(b, at)
            length, at = uvarint(b, at)
            if length < 1 or i > 0 and gap < 1:
                raise Damaged('runs touch')
            runs.append((end + gap, end + gap + length))
            end += gap + length
        if at != len(b):
            raise Damaged('set is too long')
    elif b[:1] == b'\x02':
        first, at = uvarint(b, 1)
        bits, at = uvarint(b, at)
        if len(b) - at != (bits + 7) // 8:
            raise Damaged('bitmap of another length')
        for i in range(bits):
            if b[at + i // 8] >> i % 8 & 1:
                if runs and runs[-1][1] == first + i:
                    runs[-1] = (runs[-1][0], first + i + 1)
                else:
                    runs.append((first + i, first + i + 1))
    else:
        raise Damaged('set of an unknown form')
    return runs


def sets_of(f):
    return [(o['split'], decode_set(o['set'])) for o in f.get('offsets') or []]


def size(runs):
    return sum(to - start for start, to in runs)


def show(runs):
    return ' '.join(str(a) if b == a + 1 else '%d..%d' % (a, b - 1) for a, b in runs[:10]) + (' ...' if len(runs) > 10 else '')


class Thrift:
    """Reads as much of the compact protocol as a Parquet footer needs."""

    def __init__(self, b):
        self.b, self.at = b, 0

    def varint(self):
        v, self.at = uvarint(self.b, self.at)
        return v

    def zigzag(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def value(self, t):
        if t in (1, 2):  # booleans of a field are in its type
            return t == 1
        if t == 3:
            self.at += 1
            return self.b[self.at - 1]
        if t in (4, 5, 6):
            return self.zigzag()
        if t == 7:
            self.at += 8
            return None
        if t == 8:
            n = self.varint()
            self.at += n
            if self.at > len(self.b):
                raise Damaged('thrift')
            return self.b[self.at - n:self.at]
        if t in (9, 10):
            head = self.b[self.at]
            self.at += 1
            n = head >> 4 if head >> 4 < 15 else self.varint()
            if head & 15 in (1, 2):
                self.at += n
                return None
            return [self.value(head & 15) for _ in range(n)]
        if t == 12:
            return self.struct()
        raise Damaged('thrift')

    def struct(self):
        out, field = {}, 0
        while True:
            head = self.b[self.at]
            self.at += 1
            if head == 0:
                return out
            field = field + (head >> 4) if head >> 4 else self.zigzag()
            out[field] = self.value(head & 15)


def parquet_footer(path):
    """Gives the number of rows and the key-value metadata."""
    with open(path, 'rb') as f:
        length = f.seek(0, 2)
        if length < 12:
            raise Damaged('too short')
        f.seek(length - 8)
        tail = f.read(8)
        n = struct.unpack('<I', tail[:4])[0]
        if tail[4:] != b'PAR1' or n > length - 12:
            raise Damaged('no end of a Parquet file')
        f.seek(length - 8 - n)
        try:
            meta = Thrift(f.read(n)).struct()
            return meta[3], {kv[1].decode(): kv.get(2, b'').decode() for kv in meta.get(5, [])}
        except (IndexError, KeyError, AttributeError, TypeError, UnicodeDecodeError):
            raise Damaged('footer does not parse')


# ---- logs -----------------------------------------------------------------------------------------------------------------------------

def parse_entry(b):
    """Gives kind, body as a dict, and hash of an entry file."""
    head, sep, rest = b.partition(b'\n')
    if re.match(rb'staunch-log [^ ]+ ', b) and not b.startswith(b'staunch-log 1 '):
        raise Newer('the entry is of another version')
    words = head.decode('latin-1').split(' ')
    if not sep or len(words) != 5 or words[:2] != ['staunch-log', '1'] or not re.fullmatch('[a-z-]+', words[2]) or not words[3]:
        raise Damaged('wrong first line')
    if not rest.endswith(b'\n') or hashlib.sha256(rest[:-1]).hexdigest() != words[4]:
        raise Damaged('the body is not the one that the first line names')
    body = {}
    if words[2] in KINDS:
        try:
            body = json.loads(rest[:-1].decode())
        except ValueError as e:
            raise Damaged('no JSON: %s' % e)
        if not isinstance(body, dict):
            raise Damaged('no JSON object')
    return words[2], body, hashlib.sha256(b).hexdigest()


def end(e):
    """Gives the end of a chain as (hash, checkpoint)."""
    return e.get('certificate', ''), e.get('checkpoint', 0)


class Moved(Exception):
    """An entry went away between listing and reading: a segment replaced it."""


class Log:
    """One job's log; entries() gives (number, kind, body, hash), or None instead of kind for what cannot be read."""

    def __init__(self, folder, found):
        self.folder, self.found, self.last, self.begin = folder, found, 0, 0

    def hole(self, to):
        if self.last < to:
            self.found('entry-missing', 'entries %d to %d are missing' % (self.last + 1, to), entry=self.last + 1)
            self.last = to
            yield to, None, None, None

    def one(self, n, b):
        yield from self.hole(n - 1)
        self.last = n
        try:
            yield (n,) + parse_entry(b)
        except Newer as e:
            self.found('entry-unknown', str(e), entry=n, path=self.folder)
            yield n, None, None, None
        except Damaged as e:
            self.found('entry-damaged', str(e), entry=n, path=self.folder)
            yield n, None, None, None

    def archive(self, a):
        if a['to'] <= self.last:
            return
        yield from self.hole(a['from'] - 1)
        try:
            if '/' in a['name']:
                raise OSError('its name leads elsewhere')
            with open(os.path.join(self.folder, a['name']), 'rb') as f:
                b = f.read()
        except OSError as e:
            if isinstance(e, FileNotFoundError) and self.begin != self.newest_segment()[0]:
                raise Moved  # a running job has joined it with others
            self.found('archive-damaged', str(e), entry=a['from'], path=os.path.join(self.folder, a['name']))
            self.last = a['to']
            yield a['to'], None, None, None
            return
        bad = 'sha256' in a and (len(b) != a['length'] or hashlib.sha256(b).hexdigest() != a['sha256'])
        at = 0
        while at < len(b):
            m = re.compile(rb'(\d+) (\d+)\n').match(b, at)
            if not m or int(m[1]) > a['to'] or m.end() + int(m[2]) > len(b):
                bad = True
                break
            at = m.end() + int(m[2])
            if int(m[1]) > self.last:
                yield from self.one(int(m[1]), b[m.end():at])
        if bad:
            self.found('archive-damaged', a['name'] + ' is not as its segment says', entry=a['from'], path=os.path.join(self.folder, a['name']))
        yield from self.hole(a['to'])

    def entries(self):
        while True:
            try:
                yield from self.listed()
                return
            except Moved:
                pass

    def listed(self):
        names = os.listdir(self.folder)
        numbers = sorted(int(m[1]) for m in (re.fullmatch(r'([1-9]\d*)\.staunch', n) for n in names) if m)
        begin, archives = self.newest_segment(names)
        self.begin = begin
        for a in archives:
            yield from self.archive(a)
        for n in numbers:
            if n >= begin and n > self.last:
                yield from self.one(n, self.content(n))

    def newest_segment(self, names=None):
        """Gives its number and its archives."""
        names = os.listdir(self.folder) if names is None else names
        for n in sorted((int(m[1]) for m in (re.fullmatch(r'([1-9]\d*)\.staunch', n) for n in names) if m), reverse=True):
            b = self.content(n)
            if b.split(b' ', 3)[2:3] != [b'segment']:
                continue
            try:
                return n, parse_entry(b)[1].get('archives') or []
            except Damaged:  # then their names say which there are
                return n, self.named_archives(names, n)
        return 0, []

    def named_archives(self, names, begin):
        archives = []
        named = sorted((int(m[1]), -int(m[2]), n) for m, n in ((re.fullmatch(r'archive-(\d+)-(\d+)-\w+', n), n) for n in names) if m and int(m[2]) < begin)
        for start in sorted({start for start, _, _ in named}):
            same = [(-to, n) for first, to, n in named if first == start]
            if start == (archives[-1]['to'] if archives else 0) + 1:
                to, name = next((x for x in same if self.whole(*x)), same[0])  # a process that died leaves half of one
                archives.append({'from': start, 'to': to, 'name': name})
        return archives

    def whole(self, to, name):
        try:
            with open(os.path.join(self.folder, name), 'rb') as f:
                b = f.read()
        except OSError:
            return False
        at = n = 0
        while at < len(b):
            m = re.compile(rb'(\d+) (\d+)\n').match(b, at)
            if not m:
                return False
            n, at = int(m[1]), m.end() + int(m[2])
        return at == len(b) and n == to

    def content(self, n):
        path = os.path.join(self.folder, '%d.staunch' % n)
        try:
            with open(path, 'rb') as f:
                return f.read()
        except FileNotFoundError:
            raise Moved
        except OSError:  # a folder, or not for us: no entry that can be read
            return b''


# ---- one job --------------------------------------------------------------------------------------------------------------------------

class Job:
    def __init__(self, table, name):
        self.table, self.name, self.folder = table, name, os.path.join(table.root, '_staunch', name)
        self.claimed_by = None
        self.claim, self.chain, self.log_id, self.open, self.torn, self.claim_torn = None, ('', 0), '', None, False, False
        self.accounts, self.parts, self.certificates, self.pending, self.files, self.losses = {}, {}, 0, 0, 0, []
        self.left = 0
        self.reach, self.line, self.rewinding, self.again, self.others = {}, [], '', {}, set()
        self.holes, self.repaired, self.amended_rows = False, [], 0
        self.amends, self.backed, self.unfinished = [], set(), False
        self.gone, self.replaced, self.doubts, self.fresh, self.counted, self.unread = {}, {}, {}, {}, set(), set()

    def found(self, kind, what, **more):
        self.table.found(kind, what, job=self.name, **more)

    def rewinds(self):
        """Reads what was superseded, and by which entry, which of those entries were carried out, what was repaired and amended; then the number of
        the last entry."""
        self.out, self.out_at, self.carried, self.repairs, self.removed, self.added = {}, {}, set(), {}, {}, {}
        log = Log(self.folder, lambda *a, **k: None)
        for n, kind, body, digest in log.entries():
            try:
                if kind == 'supersede':
                    self.out.update((c, digest) for c in body['certificates'])
                    self.out_at.update((c, n) for c in body['certificates'])
                if kind == 'rewound':
                    self.carried.add(body['supersede'])
                if kind == 'repair':
                    self.repairs.setdefault((body['certificate'], body['final']), []).append(dict(body, entry=n))
                if kind == 'amend':
                    self.amends.append((body['removed'] or [], [f['final'] for f in body.get('added') or []]))
                    for f in body['removed'] or []:
                        self.removed[f] = n
                        self.added.pop(f, None)
                    self.added.update((f['final'], f) for f in body.get('added') or [])
            except (KeyError, TypeError):
                pass  # reported in its turn
        return log.last

    def run(self):
        limit = self.rewinds()
        for n, kind, body, digest in Log(self.folder, self.found).entries():
            if n > limit:
                break
            if kind is None:
                self.torn = self.claim_torn = self.holes = True
                continue
            try:
                if kind not in KINDS:
                    self.found('entry-unknown', kind, entry=n)
                else:
                    getattr(self, 'on_' + kind)(n, body, digest)
            except (KeyError, TypeError, AttributeError, Damaged) as e:
                self.found('entry-damaged', 'no %s: %r' % (kind, e), entry=n)
                self.torn = True
                self.unread.add(n)
        self.committing = self.open is not None and 'out' not in self.open
        self.settle()
        whole, mixed = self.voids()
        for final, f in sorted(self.added.items()):
            if final in whole or final in mixed:
                if os.path.lexists(self.now(final)) and not self.unfinished:
                    self.found('file-superseded', 'it stands for files that a rewind took back', path=self.now(final))
                if final in whole:
                    continue
            f = dict(f, sets=sets_of(f), foreign=True)
            self.files += self.check_file({'checkpoint': 0}, [f], self.now(final), self.now(final)) is not None
            if os.path.lexists(self.now(final)):
                self.counted.add(final)
                rel = os.path.relpath(self.now(final), self.table.root).split('/')
                if any(hidden(os.path.join(self.table.root, *rel[:i]), name) for i, name in enumerate(rel)):
                    self.found('file-outside', 'an amend added a file that readers pass over', path=self.now(final))
                if final in self.doubts:
                    self.found('offsets-twice', self.doubts[final], path=self.now(final))

    def doubt(self, n, removed, added):
        """Notes which files of an amend hold offsets that the files they stand for did not hold as often, and which have other bytes than those."""
        known = all(p in self.gone and recorded(self.gone[p]) for p in removed)
        count = {}
        for by, files in (-1, [x for p in removed for x in [self.gone.get(p, {})] + self.replaced.get(p, [])]), (1, added):
            for f in files:
                for digest in sums_of(f):
                    count[digest] = count.get(digest, 0) + by
        held = {}
        for by, files in ((-1, [self.gone[p] for p in removed] if known else []), (1, added)):
            for f in files:
                for split, runs in sets_of(f):
                    held.setdefault(split, []).extend(e for a, b in runs for e in ((a, by), (b, -by)))
        more = {}
        for split, edges in held.items():
            edges.sort()
            level = 0
            for (at, by), (then, _) in zip(edges, edges[1:]):
                level += by
                if level > 0 and at < then:
                    more.setdefault(split, []).append((at, then))
        for f in added:
            self.doubts.pop(f['final'], None)
            self.fresh.pop(f['final'], None)
            if removed and f['length'] and all(count[digest] > 0 for digest in sums_of(f)):  # the removed ones may have only one of them
                self.fresh[f['final']] = n
            if removed and known and any(a < hi and lo < b for split, runs in sets_of(f) for a, b in runs for lo, hi in more.get(split, [])):
                self.doubts[f['final']] = 'it holds offsets that the files it stands for did not hold (amend, entry %d)' % n
            if f['final'] in self.removed:
                self.gone[f['final']] = f

    def voids(self):
        """Gives the files of amends that hold only, or also, rows which a rewind took back."""
        whole, mixed = set(), set()
        for removed, added in self.amends:
            back = [p for p in removed if p in self.backed or p in mixed]
            if back and all(p in self.backed for p in removed):
                whole.update(added)
                self.backed.update(added)
            elif back:
                mixed.update(added)
        return whole, mixed

    def now(self, path):
        """Gives the place of a path of a table that was moved as a whole."""
        old = self.table.moved
        return self.table.root + path[len(old):] if old and path.startswith(old + '/') else path

    def owned(self, n, may):
        if not self.claim_torn and not may:
            self.found('fence', 'entry %d was written although the table was claimed otherwise' % n, entry=n)

    def newest(self, n, body):
        if body['certificate'] == self.chain[0] != '':
            return True
        if not self.torn:
            self.found('chain-broken', 'entry %d speaks of another certificate than the newest' % n, entry=n)
        return False

    def on_certificate(self, n, c, digest):
        files = []
        for f in c.get('files') or []:
            sets = sets_of(f)
            sums_of(f)
            files.append(dict(f, sets=sets, insert=f.get('insert', '')))
        self.check_sums(n, [f for f in files if not c.get('from_directories') or f['rows'] or f['sets']])  # those from folders have nothing but a length
        if self.open and not self.torn:
            self.found('order', 'a certificate before the one before it is done', entry=n)
        self.settle()
        if c['previous'] != self.chain[0] and not self.torn:
            self.found('chain-broken', 'the certificate does not follow the one before it', entry=n)
        self.owned(n, self.claim and self.claim['log_id'] == c['log_id'] and c['epoch'] <= self.claim['epoch'])
        if self.chain[0] and self.log_id == c['log_id'] and c['checkpoint'] <= self.chain[1]:
            self.found('order', 'checkpoint %d behind %d' % (c['checkpoint'], self.chain[1]), entry=n)
        if self.rewinding and not self.torn:
            self.found('order', 'a certificate before the rewind before it is carried out', entry=n)
        self.line.append((digest, c['checkpoint']))
        self.gone.update((f['final'], f) for f in files if f['final'] in self.removed)
        if digest in self.out:
            return self.taken_back(n, c, digest, files)
        self.check_ranges(n, c)
        self.check_sets(n, c, files)
        self.chain, self.log_id, self.torn = (digest, c['checkpoint']), c['log_id'], False
        self.certificates += 1
        self.open = {'n': n, 'hash': digest, 'files': files, 'verdicts': [], 'accepted': [], 'checkpoint': c['checkpoint']}
        for p in c.get('partitions') or []:
            self.parts.setdefault(p, False)
        self.place(n, files)

    def place(self, n, files):
        for f in files:
            final = self.table.inside(f, f['final'])
            if final is None:
                self.found('file-outside', 'not below the table', path=f['final'], entry=n)
            elif final in self.table.named:
                self.found('order', 'a file is named twice', path=final, entry=n)
            else:
                self.table.named.add(final)

    def taken_back(self, n, c, digest, files):
        """A certificate that a later entry supersedes is out of every account, and no file of it is in the table."""
        self.chain, self.log_id, self.torn = (digest, c['checkpoint']), c['log_id'], False
        self.open = {'n': n, 'hash': digest, 'files': [], 'verdicts': [], 'accepted': [], 'checkpoint': c['checkpoint'], 'out': len(files)}
        for p in c.get('partitions') or []:
            self.parts.setdefault(p, False)
        self.place(n, files)
        back = {f['final'] for f in files if f['final'] in self.removed}
        self.backed |= back
        self.unfinished = self.unfinished or back and self.out[digest] not in self.carried
        for f in files if self.out[digest] in self.carried else ():
            pending = self.table.inside(f, f['pending'])
            final = self.table.inside(f, f['final'])
            for p in [pending, final] + [self.table.inside(f, r['staged']) for r in self.repairs.get((digest, f['final']), [])]:
                if p and p != final and os.path.isfile(p) and os.path.getsize(p) == 0 < f['length']:
                    continue  # not that file: a create that arrived once more, late, makes an empty one
                if p and os.path.lexists(p):
                    self.found('file-superseded', 'of a checkpoint that a rewind took back', path=p, entry=n)

    def on_keep(self, n, k, digest):
        self.owned(n, self.claim == {'log_id': k['log_id'], 'epoch': k['epoch']})
        self.others.update(k.get('others') or [])
        if not k.get('rewind'):
            return
        if end(k['chain']) != self.chain and not self.torn:
            self.found('chain-broken', 'another end is kept', entry=n)
        if self.open and not self.torn:
            self.found('order', 'kept before the newest checkpoint is done', entry=n)
        for key in self.accounts:
            self.again[key] = 'before' if end(k['target'])[0] else 'anywhere'

    def on_supersede(self, n, x, digest):
        self.owned(n, self.claim == {'log_id': x['log_id'], 'epoch': x['epoch']})
        target = end(x['target'])
        at = self.line.index(target) + 1 if target in self.line else 0 if target == ('', 0) else None
        if at is None or [h for h, _ in reversed(self.line[at:])] != x['certificates']:
            if not self.torn:
                self.found('chain-broken', 'other certificates are superseded than stand behind the target', entry=n)
        else:
            del self.line[at:]
        self.chain, self.log_id, self.open, self.rewinding = target, x.get('target_log_id', ''), None, digest

    def on_rewound(self, n, r, digest):
        self.owned(n, self.claim == {'log_id': r['log_id'], 'epoch': r['epoch']})
        if r['supersede'] != self.rewinding and not self.torn:
            self.found('chain-broken', 'a rewind ends that did not begin', entry=n)
        self.rewinding = ''

    def check_sums(self, n, files):
        for f in files:
            if not recorded(f):
                self.found('entry-damaged', 'no checksum that is known', entry=n)
                return

    def check_ranges(self, n, c):
        if c.get('from_directories'):  # files of a version that recorded none: its ranges are positions, from which accounts begin again
            self.table.older = True
            for r in c.get('ranges') or []:
                for name in [k for k in self.reach if k[0] == r['split'] and self.reach[k] < r['to']]:
                    self.reach[name] = r['to']
                    self.accounts[name]['to'] = max(self.accounts[name]['to'], r['to'])
            return
        for r in sorted(c.get('ranges') or [], key=lambda r: (r['split'], r.get('insert', ''), r['from'])):
            counts = [r.get(k, 0) for k in ('filtered', 'rejected', 'null', 'gaps', 'skipped')]
            name = (r['split'], r.get('insert', ''))
            if min(counts + [r['from']]) < 0 or sum(counts) > r['to'] - r['from']:
                self.found('range-damaged', repr(r), entry=n)
                continue
            a = self.accounts.setdefault(name, {'from': r['from'], 'to': r['from'], 'rows': 0})
            at = self.reach.setdefault(name, r['from'])
            again = self.again.get(name)
            if r['from'] < r['to'] and (again == 'anywhere' or again == 'before' and r['from'] <= at):
                del self.again[name]
                at = r['to']
            elif r['from'] < r['to'] and r['from'] != at:
                kind = 'range-gap' if r['from'] > at else 'range-overlap'
                self.found(kind, '%s: offsets up to %d are followed by %d' % (r['split'], at - 1, r['from']), entry=n, split=r['split'])
            self.reach[name] = max(at, r['to'])
            a['from'], a['to'] = min(a['from'], r['from']), max(a['to'], r['to'])

    def check_sets(self, n, c, files):
        closes = c.get('accounts_close', False)
        want, ranges, have = {}, {}, {}
        for r in c.get('ranges') or []:
            k = (r['split'], r.get('insert', ''))
            ranges.setdefault(k, []).append((r['from'], r['to']))
            want[k] = want.get(k, 0) + r['to'] - r['from'] - sum(r.get(x, 0) for x in ('filtered', 'rejected', 'null', 'gaps', 'skipped'))
        for f in files:
            for split, runs in f['sets']:
                have.setdefault((split, f['insert']), []).extend((a, b, f['final']) for a, b in runs)
            if closes and f['sets'] and sum(size(runs) for _, runs in f['sets']) != f['rows']:
                self.found('account-open', 'rows and offsets of a file differ in number', path=f['final'], entry=n)
        for k, runs in have.items():
            runs.sort()
            reach = None
            for a, b, path in runs:
                if closes and reach is not None and a < reach:
                    self.found('offsets-twice', '%s: offset %d is in two files' % (k[0], a), path=path, entry=n, split=k[0])
                reach = b if reach is None else max(reach, b)
                at = a
                for lo, hi in sorted(ranges.get(k, [])):
                    if lo <= at < hi:
                        at = hi
                if at < b:
                    self.found('offsets-outside', '%s: offset %d was not consumed' % (k[0], at), path=path, entry=n, split=k[0])
        for k in set(want) | set(have):
            rows = sum(b - a for a, b, _ in have.get(k, []))
            if k in self.accounts:
                self.accounts[k]['rows'] += rows
            if closes and rows != want.get(k, 0):
                self.found('account-open', '%s: %d rows in files, %d by the account' % (k[0], rows, want.get(k, 0)), entry=n, split=k[0])

    def on_claim(self, n, c, digest):
        by = (c['log_id'], c['epoch'], c.get('host'), c.get('pid'))  # one process may claim again after an unknown outcome
        if self.claim and self.claim['log_id'] == c['log_id'] and c['epoch'] <= self.claim['epoch'] and by != self.claimed_by:
            self.found('order', 'epoch %d claims behind %d' % (c['epoch'], self.claim['epoch']), entry=n)
        self.claimed_by = by
        self.claim, self.claim_torn = {'log_id': c['log_id'], 'epoch': c['epoch']}, False

    def on_done(self, n, d, digest):
        if not self.newest(n, d):
            return
        self.owned(n, self.claim == {'log_id': d['log_id'], 'epoch': d['epoch']})
        if not self.open:
            return
        v = d.get('verdicts') or []
        if 'out' in self.open:
            if len(v) != self.open['out'] or set(v) - {'renamed', 'skipped', 'lost'}:
                self.found('verdicts-wrong', 'not one verdict for each file', entry=n)
            self.open = None
            return
        if len(v) != len(self.open['files']) or set(v) - {'renamed', 'skipped', 'lost'}:
            self.found('verdicts-wrong', 'not one verdict for each file', entry=n)
        told = {k: d['counters'].get(k, 0) for k in ('numFilesCreated', 'numFilesRenamed', 'numFilesSkipped', 'numFilesLost')}
        if list(told.values()) != [len(v), v.count('renamed'), v.count('skipped'), v.count('lost')]:
            self.found('verdicts-wrong', 'the counters are not those of the verdicts', entry=n)
        self.open['verdicts'] = v
        self.settle()

    def on_partition(self, n, p, digest):
        if self.newest(n, p):
            for name in p.get('partitions') or []:  # the success file of a superseded one stays, but nobody counts on it
                self.parts[name] = self.parts.get(name) or p['certificate'] not in self.out

    def on_accept(self, n, a, digest):
        if self.newest(n, a) and self.open:
            self.open['accepted'].append(a.get('files'))

    def on_repair(self, n, r, digest):
        self.check_sums(n, [r])
        if r['final'] in self.removed:
            self.replaced.setdefault(r['final'], []).append(r)
        out = self.out_at.get(r['certificate'])
        if out and out < n:
            self.found('order', 'a repair behind the rewind that takes its checkpoint back', entry=n)
        elif not out and not self.holes and r['certificate'] not in [h for h, _ in self.line]:
            self.found('chain-broken', 'a repair names a certificate that does not stand before it', entry=n)
        elif not self.holes and self.now(r['final']) not in self.table.named:
            self.found('chain-broken', 'a repair names a file that no certificate names', entry=n, path=r['final'])

    def on_amend(self, n, a, digest):
        self.check_sums(n, a.get('added') or [])
        self.doubt(n, a['removed'] or [], a.get('added') or [])
        for p in a['removed'] or []:
            if not self.holes and self.now(p) not in self.table.named:
                self.found('chain-broken', 'an amend takes out a file that no entry before it names', entry=n, path=p)
        for f in a.get('added') or []:
            p = self.now(f['final'])
            if not p.startswith(self.table.root + '/') or os.path.normpath(p) != p:
                self.found('file-outside', 'an amend adds a file outside the table', entry=n, path=p)
                continue
            self.table.named.add(p)
            self.table.extensions.add(os.path.splitext(p)[1])
            if not a['removed']:  # adopted: it stood there before, perhaps with a success file
                self.parts.setdefault(f.get('partition', ''), False)
        self.amended_rows += a['rows_removed']

    def on_segment(self, n, g, digest):
        chain = end(g['chain'])
        if self.torn:
            self.chain = chain
        elif chain != self.chain:
            self.found('chain-broken', 'the segment names another newest certificate', entry=n)
        if self.claim_torn:
            self.claim, self.claim_torn = {'log_id': g['claim']['log_id'], 'epoch': g['claim']['epoch']}, False

    def settle(self):
        """Checks the files of the newest certificate, with its verdicts or without."""
        c, self.open = self.open, None
        for i, f in enumerate(c['files'] if c else []):
            final = self.table.inside(f, f['final'])
            if final is None:
                continue
            self.table.extensions.add(os.path.splitext(final)[1])
            verdict = c['verdicts'][i] if i < len(c['verdicts']) else None
            repairs = self.repairs.get((c['hash'], f['final']), [])
            if f['final'] in self.removed:
                if verdict == 'lost' and all(os.path.lexists(self.table.inside(f, r['staged']) or '') for r in repairs):
                    self.lost(c, f, final, repairs)  # an amend does not make a loss undone
                if f['final'] not in self.added and os.path.lexists(final):
                    self.found('file-amended', 'taken out on purpose, and there', path=final, checkpoint=c['checkpoint'])
                continue
            place = final if verdict in ('renamed', 'skipped') or verdict == 'lost' and os.path.lexists(final) else None
            if verdict not in ('renamed', 'skipped', 'lost'):
                pending = self.table.inside(f, f['pending'])
                place = next((p for p in (pending, final, pending, final) if p and os.path.lexists(p)), None)
            if place is None:
                self.lost(c, f, final, repairs)
                continue
            versions = [dict(f, length=r['length'], xxh128=r.get('xxh128'), sha256=r.get('sha256'), rows=r['rows'], entry=r['entry']) for r in repairs] + [f]
            pending = self.table.inside(f, f['pending'])
            self.left += verdict in ('renamed', 'skipped', 'lost') and pending is not None and os.path.lexists(pending)
            version = self.check_file(c, versions, place, final)
            if version and 'entry' in version:
                self.repaired.append({'path': final, 'entry': version['entry']})
            self.pending += self.at != final
            self.files += self.at == final

    def lost(self, c, f, final, repairs):
        offsets = {split: show(runs) for split, runs in f['sets']}
        accepted = any(f['final'] in names if names else c['verdicts'] for names in c['accepted'])
        self.losses.append({'path': final, 'offsets': offsets, 'accepted': accepted, 'repair_begun': len(repairs) > 0})
        if not accepted:
            self.found('file-lost', 'in neither place', path=final, checkpoint=c['checkpoint'], offsets=offsets)

    def check_file(self, c, versions, path, final):
        """Gives the version of the file that stands in its place, or None and reports what is wrong."""
        contradicts = None
        for v in versions:
            self.at, problem = self.examine(v, path, final)
            if not problem and v['rows'] != versions[-1]['rows']:
                problem = 'file-contradicts', 'the replacement has %d rows, the lost file had %d' % (v['rows'], versions[-1]['rows'])
            if not problem:
                return v
            if problem[0] == 'file-contradicts':
                contradicts = problem
        kind, what = contradicts if contradicts and problem[0] == 'file-changed' else problem
        self.found(kind, what, path=self.at, checkpoint=c['checkpoint'], offsets={split: show(runs) for split, runs in versions[-1]['sets']})

    def examine(self, f, path, final):
        """Compares a file with what is said of it; gives its place and what is wrong, or None."""
        try:
            info = os.lstat(path)
            if not stat.S_ISREG(info.st_mode) or info.st_size != f['length']:
                if path != final and os.path.lexists(final):  # a source does not matter once the target is there
                    return self.examine(f, final, final)
                return path, ('file-changed', 'another length, or no plain file')
            name = path[:-8] if path.endswith('.pending') else path
            if not recorded(f):  # nothing else is recorded of it
                if name.endswith('.parquet'):
                    parquet_footer(path)
                return path, None
            if not self.table.fast:
                digests, lines = {kind: SUMS[kind]() for kind, _ in sums_of(f)}, 0
                with open(path, 'rb') as h:
                    for block in iter(lambda: h.read(1 << 20), b''):
                        for digest in digests.values():
                            digest.update(block)
                        lines += block.count(b'\n')
                for kind, digest in digests.items():
                    if digest.hexdigest() != f[kind]:
                        return path, ('file-changed', 'another ' + kind)
                if name.endswith('.json') and lines != f['rows']:
                    return path, ('file-contradicts', '%d lines, %d rows' % (lines, f['rows']))
            if name.endswith('.parquet'):
                rows, meta = parquet_footer(path)
                if f.get('foreign') and 'staunch.rows' not in meta:  # written by another program
                    return path, None if rows == f['rows'] else ('file-contradicts', 'rows in the footer are others')
                sets = {k[16:]: decode_set(v) for k, v in meta.items() if k.startswith('staunch.offsets.')}
                if not rows == f['rows'] == int(meta.get('staunch.rows', -1)) or sets != dict(f['sets']):
                    return path, ('file-contradicts', 'rows or offsets in the footer are others')
            return path, None
        except FileNotFoundError:
            if path != final and os.path.lexists(final):  # it was renamed this moment
                return self.examine(f, final, final)
            return path, ('file-missing', 'committed and gone')
        except OSError as e:
            return path, ('file-unreadable', str(e))
        except (Damaged, ValueError) as e:
            return path, ('file-contradicts', str(e))


def hidden(folder, name):
    """Readers skip these names. A partition's folder, key=value, is read whatever the column's name begins with."""
    path = os.path.join(folder, name)
    return name[0] in '_.' and not (name.find('=') > 0 and (os.path.islink(path) or os.path.isdir(path)))


# ---- the table ------------------------------------------------------------------------------------------------------------------------

class Table:
    def __init__(self, root, fast):
        self.root, self.fast = os.path.realpath(root), fast
        self.problems, self.named, self.extensions, self.jobs = [], set(), set(), []
        self.older, self.unproven, self.moved = False, 0, ''

    def found(self, kind, what, **more):
        self.problems.append(dict(kind=kind, what=what, **more))

    def inside(self, f, path):
        """Gives the place of a path in a certificate below the table as it stands now, or None."""
        if os.path.normpath(path) != path:
            return None
        if path.startswith(self.root + '/'):
            return path
        old = f['pending'].rpartition(TEMPORARY)[0]
        if not old or not path.startswith(old + '/'):
            return None
        self.moved = old
        return self.root + path[len(old):]

    def run(self):
        logs = os.path.join(self.root, '_staunch')
        names = sorted(n for n in os.listdir(logs) if os.path.isdir(os.path.join(logs, n))) if os.path.isdir(logs) else []
        if not names:
            self.found('no-log', 'no log of Staunch')
            return
        for name in names:
            self.jobs.append(Job(self, name))
            self.jobs[-1].run()
        self.walk()
        self.doubles()
        for i, a in enumerate(self.jobs):
            for b in self.jobs[i + 1:]:
                if a.name in b.others or b.name in a.others:
                    continue
                for split in sorted({s for s, _ in a.accounts} & {s for s, _ in b.accounts}):
                    (lo, hi), (lo2, hi2) = (
                        (min(v['from'] for k, v in j.accounts.items() if k[0] == split), max(v['to'] for k, v in j.accounts.items() if k[0] == split))
                        for j in (a, b))
                    if max(lo, lo2) < min(hi, hi2):
                        self.found('two-jobs', '%s and %s wrote %s %d..%d' % (a.name, b.name, split, max(lo, lo2), min(hi, hi2) - 1), split=split, path=self.root)

    def doubles(self):
        """Finds files of amends that have the bytes of another file which readers see."""
        fresh = {}
        for job in self.jobs:
            for final, n in job.fresh.items():
                if final in job.counted:
                    for digest in sums_of(job.added[final]):
                        fresh.setdefault(digest, []).append((job, final, n))
        told = set()

        def see(f, job, final, n=None):
            for owner, copy, at in [x for digest in sums_of(f) for x in fresh.get(digest, [])]:
                if copy != final and copy not in told and not (n is not None and owner is job and n > at):
                    told.add(copy)
                    owner.found('offsets-twice', 'it is a copy of %s (amend, entry %d)' % (final, at), path=owner.now(copy))

        for job in self.jobs if fresh else ():
            for final in job.counted:
                see(job.added[final], job, final)
            for (certificate, final), repairs in job.repairs.items():
                for r in repairs if final not in job.removed and certificate not in job.out else ():
                    see(r, job, final, r['entry'])
            for n, kind, body, digest in Log(job.folder, lambda *a, **k: None).entries():
                for f in body.get('files') or [] if kind == 'certificate' and digest not in job.out else ():
                    if f.get('final') not in job.removed:
                        see(f, job, f.get('final'), n)

    @staticmethod
    def bytes(path):
        try:
            return os.path.getsize(path)
        except OSError:  # gone again
            return 0

    def walk(self):
        extensions = self.extensions or {'.parquet', '.json'}
        strangers, success = [], set()
        for folder, below, files in os.walk(self.root):
            rel = os.path.relpath(folder, self.root)
            if rel != '.' and '_SUCCESS' in files:
                success.add(rel)
            links = [d for d in below if os.path.islink(os.path.join(folder, d))]
            below[:] = [d for d in below if not hidden(folder, d) and d not in links]
            for name in files + links:
                path = os.path.join(folder, name)
                if not hidden(folder, name) and path not in self.named and (os.path.islink(path) or os.path.splitext(name)[1] in extensions or self.bytes(path) > 0):
                    strangers.append(path)
        later, parts = set(), {}
        for job in self.jobs:  # a certificate stands before its files are visible
            for p, done in job.parts.items():
                parts[p] = parts.get(p) or done
            for n, kind, body, _ in Log(job.folder, lambda *a, **k: None).entries() if strangers or success - set(parts) else ():
                if n in job.unread:
                    continue
                if kind == 'amend':
                    later.update(job.now(f['final']) for f in body.get('added') or [] if 'final' in f)
                if kind == 'certificate':
                    later.update(self.inside(f, f['final']) for f in body.get('files') or [] if 'final' in f and 'pending' in f)
                    for p in body.get('partitions') or []:
                        parts.setdefault(p, False)
        for path in strangers:
            if self.older and not os.path.islink(path) and not OURS.fullmatch(os.path.basename(path)):
                self.unproven += 1  # a version without certificates wrote to the table as well
            elif path not in later:
                self.found('file-foreign', 'no certificate names it', path=path)
        for p in () if self.older else sorted(success - set(parts)):
            self.found('success-foreign', 'the partition was not committed', path=os.path.join(self.root, p, '_SUCCESS'))
        for p in sorted(p for p, done in parts.items() if done and p not in success):
            self.found('success-missing', 'the partition was committed', path=os.path.join(self.root, p, '_SUCCESS'))

    def report(self):
        first = [v for j in self.jobs for v in ['being rewound' if j.rewinding else 'being committed' if j.committing else ''] if v]
        verdict = 'problems' if self.problems else first[0] if first else 'clean'
        return {'table': self.root, 'verdict': verdict, 'fast': self.fast, 'unproven_files': self.unproven, 'problems': self.problems, 'jobs': [
            {'job': j.name, 'certificates': j.certificates, 'checkpoint': j.chain[1], 'chain': j.chain[0], 'files': j.files, 'pending': j.pending, 'pending_left': j.left,
             'losses': j.losses, 'repaired': j.repaired, 'rows_amended': j.amended_rows, 'splits': [dict(split=k[0], insert=k[1], **v) for k, v in sorted(j.accounts.items())]} for j in self.jobs]}


class Copy:
    """The copy of one partition, and its certificate."""
    examine = Job.examine

    def __init__(self, certificate, root, fast):
        self.root, self.fast, self.table, self.problems = os.path.realpath(root), fast, self, []
        self.files = self.rows = self.lengths = 0
        try:
            with open(certificate, 'rb') as f:
                self.body = self.parse(f.read())
        except (OSError, Damaged, ValueError, KeyError, TypeError) as e:
            self.found('certificate-damaged', repr(e), path=certificate)
            self.body = None

    def found(self, kind, what, **more):
        self.problems.append(dict(kind=kind, what=what, **more))

    @staticmethod
    def parse(b):
        head = json.loads(b.decode())
        if head['format'] != 'staunch-certificate' or head['version'] != 1:
            raise Damaged('another format or version')
        start = b.index(b'"body":') + len(b'"body":')
        if hashlib.sha256(b[start:b.rindex(b'}')]).hexdigest() != head['sha256']:
            raise Damaged('altered')
        x = head['body']
        if not x['table'] or not (x['files'] or x.get('lost')) or any(j is None for j in x['jobs'] or []):
            raise Damaged('no table, no file or no job is named')
        names = set()
        for f in head['body']['files'] or []:
            name = f['name']
            if not name or name.startswith('/') or os.path.normpath(name) != name or name.split('/')[0] == '..' or name in names:
                raise Damaged('no name of a file below the partition: %r' % name)
            names.add(name)
            f['sets'] = sets_of(f)
            if not recorded(f) and (f['rows'] or f['sets']):  # not from folders
                raise Damaged('no checksum that is known: %r' % name)
        return head['body']

    def run(self):
        if self.body is None:
            return
        if not os.path.isdir(self.root):
            self.found('file-missing', 'there is no folder of the copy', path=self.root)
            if os.path.exists(self.root):
                return
        closes = {j['job']: j['accounts_close'] for j in self.body['jobs'] or []}
        inserts = {}
        for f in self.body['files'] or []:
            if f.get('checkpoint'):
                inserts.setdefault(f['job'], set()).add(f.get('insert', ''))
        named, extensions, runs = set(), set(), {}
        for f in self.body['files'] or []:
            path = os.path.join(self.root, f['name'])
            named.add(path)
            extensions.add(os.path.splitext(path)[1])
            f['foreign'] = not f['sets']
            _, problem = self.examine(f, path, path)
            if problem:
                self.found(*problem, path=path)
            else:
                self.files, self.rows, self.lengths = self.files + 1, self.rows + f['rows'], self.lengths + (not recorded(f))
            if closes.get(f['job']) and f['sets'] and sum(size(r) for _, r in f['sets']) != f['rows']:
                self.found('account-open', 'rows and offsets of a file differ in number', path=f['name'])
            insert = f.get('insert', '')
            if not f.get('checkpoint') and len(inserts.get(f['job'], ())) == 1:  # of an amend: it stands for files of this INSERT
                insert = min(inserts[f['job']])
            for split, r in f['sets'] if closes.get(f['job']) else ():
                runs.setdefault((f['job'], split, insert), []).extend((a, b, f['name']) for a, b in r)
        for (_, split, _), list in runs.items():
            list.sort()
            for (_, end, _), (start, _, name) in zip(list, list[1:]):
                if start < end:
                    self.found('offsets-twice', '%s: offset %d is in two files' % (split, start), path=name)
                    break
        for folder, below, files in os.walk(self.root):
            links = [d for d in below if os.path.islink(os.path.join(folder, d))]
            below[:] = [d for d in below if not hidden(folder, d) and d not in links]
            for name in files + links:
                path = os.path.join(folder, name)
                if not hidden(folder, name) and path not in named and (os.path.islink(path) or os.path.splitext(name)[1] in extensions or Table.bytes(path) > 0):
                    self.found('file-foreign', 'the certificate does not name it', path=path)

    def report(self):
        return {'copy': self.root, 'verdict': 'problems' if self.problems else 'clean', 'fast': self.fast, 'files': self.files, 'rows': self.rows, 'without_checksum': self.lengths, 'problems': self.problems}


def main(args):
    fast = '--fast' in args
    paths = [a for a in args if a != '--fast']
    if len(paths) == 3 and paths[0] == '--certificate':
        copy = Copy(paths[1], paths[2], fast)
        copy.run()
        print(json.dumps(copy.report(), indent=1))
        return 1 if copy.problems else 0
    if len(paths) != 1 or paths[0].startswith('-'):
        print(__doc__, file=sys.stderr)
        return 2
    if webhdfs.is_place(paths[0]):
        with tempfile.TemporaryDirectory() as copy:
            for path, why in webhdfs.WebHDFS(paths[0]).copy(copy).items():
                print('not copied: %s: %s' % (path, why), file=sys.stderr)
            return verify(copy, fast)
    return verify(paths[0], fast)


def verify(folder, fast):
    table = Table(folder, fast)
    table.run()
    print(json.dumps(table.report(), indent=1))
    return 1 if table.problems else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
