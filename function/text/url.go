package text

import "bytes"

// urlParts are the pieces of a URL as java.net.URL cuts it.
type urlParts struct {
	protocol, authority, userInfo, host, path, query, ref []byte
	hasAuthority, hasUser, hasQuery, hasRef               bool
}

// knownProtocols are those for which Java has a handler; others are no URL for PARSE_URL.
var knownProtocols = [...]string{"http", "https", "ftp", "file", "jar", "mailto"}

func cutURL(s []byte) (u urlParts, ok bool) {
	s = bytes.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if len(s) >= 4 && foldASCII(s[:4], "url:") {
		s = s[4:]
	}
	colon := bytes.IndexByte(s, ':')
	if colon <= 0 || bytes.IndexByte(s[:colon], '/') >= 0 {
		return u, false
	}
	for _, p := range knownProtocols {
		if foldASCII(s[:colon], p) {
			u.protocol, ok = []byte(p), true
		}
	}
	if !ok {
		return u, false
	}
	s = s[colon+1:]
	if i := bytes.IndexByte(s, '#'); i >= 0 {
		u.ref, u.hasRef, s = s[i+1:], true, s[:i]
	}
	if i := bytes.IndexByte(s, '?'); i >= 0 {
		u.query, u.hasQuery, s = s[i+1:], true, s[:i]
	}
	if bytes.HasPrefix(s, []byte("//")) {
		s = s[2:]
		i := bytes.IndexByte(s, '/')
		if i < 0 {
			i = len(s)
		}
		u.authority, u.hasAuthority = s[:i], true
		s = s[i:]
		if !u.cutAuthority() {
			return u, false
		}
	}
	u.path = s
	return u, true
}

// cutAuthority takes the authority apart: [user@]host[:port], with a port of digits.
func (u *urlParts) cutAuthority() bool {
	host := u.authority
	if i := bytes.IndexByte(host, '@'); i >= 0 {
		if bytes.LastIndexByte(host, '@') != i {
			return true // more than one @: Java has neither user nor host then
		}
		u.userInfo, u.hasUser, host = host[:i], true, host[i+1:]
	}
	port := []byte(nil)
	if len(host) > 0 && host[0] == '[' {
		i := bytes.IndexByte(host, ']')
		if i < 0 {
			return false
		}
		port, host = host[i+1:], host[:i+1]
		if len(port) > 0 && port[0] != ':' {
			return false
		}
		port = bytes.TrimPrefix(port, []byte(":"))
	} else if i := bytes.IndexByte(host, ':'); i >= 0 {
		port, host = host[i+1:], host[:i]
	}
	for _, c := range port {
		if c < '0' || c > '9' {
			return false
		}
	}
	u.host = host
	return len(port) <= 9
}

func foldASCII(s []byte, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i, c := range s {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// ParseURL is PARSE_URL(url, part) for the parts HOST, PATH, QUERY, REF, PROTOCOL, AUTHORITY, FILE and USERINFO (case matters); ok is false
// (SQL: NULL) for text that is no URL, a part it has not and other names.
func ParseURL(url []byte, part string) (value []byte, ok bool) {
	u, ok := cutURL(url)
	if !ok {
		return nil, false
	}
	switch part {
	case "HOST":
		return orEmpty(u.host), true
	case "PATH":
		return orEmpty(u.path), true
	case "QUERY":
		return u.query, u.hasQuery
	case "REF":
		return u.ref, u.hasRef
	case "PROTOCOL":
		return u.protocol, true
	case "AUTHORITY":
		return u.authority, u.hasAuthority
	case "USERINFO":
		return u.userInfo, u.hasUser
	case "FILE":
		if !u.hasQuery {
			return orEmpty(u.path), true
		}
		return append(append(append([]byte{}, u.path...), '?'), u.query...), true
	}
	return nil, false
}

func orEmpty(s []byte) []byte {
	if s == nil {
		return []byte{}
	}
	return s
}

// ParseURLQuery is PARSE_URL(url, 'QUERY', key): the value of a parameter, not decoded; ok is false (SQL: NULL) without it.
func ParseURLQuery(url []byte, key string) (value []byte, ok bool) {
	u, ok := cutURL(url)
	if !ok {
		return nil, false
	}
	for q := u.query; len(q) > 0; {
		pair, rest, _ := bytes.Cut(q, []byte("&"))
		if len(pair) > len(key) && string(pair[:len(key)]) == key && pair[len(key)] == '=' {
			return pair[len(key)+1:], true
		}
		q = rest
	}
	return nil, false
}

// InetAton is INET_ATON(s): an IPv4 address of one to four numbers, the last one filling the rest; ok is false (SQL: NULL) for others.
func InetAton(s []byte) (address int64, ok bool) {
	parts := 0
	for {
		part, rest, more := bytes.Cut(s, []byte("."))
		parts++
		if parts > 4 || len(part) == 0 || len(part) > 10 {
			return 0, false
		}
		v := int64(0)
		for _, c := range part {
			if c < '0' || c > '9' {
				return 0, false
			}
			v = v*10 + int64(c-'0')
		}
		if more && v > 255 {
			return 0, false
		}
		if !more {
			limit := int64(1) << (8 * (5 - parts))
			if v >= limit {
				return 0, false
			}
			return address*limit + v, true
		}
		address = address<<8 | v
		s = rest
	}
}

// AppendInetNtoa is INET_NTOA(n); ok is false (SQL: NULL) outside 0 to 2^32-1.
func AppendInetNtoa(dst []byte, n int64) (out []byte, ok bool) {
	if n < 0 || n > 1<<32-1 {
		return dst, false
	}
	for shift := 24; shift >= 0; shift -= 8 {
		b := byte(n >> shift)
		if b >= 100 {
			dst = append(dst, '0'+b/100)
		}
		if b >= 10 {
			dst = append(dst, '0'+b/10%10)
		}
		dst = append(dst, '0'+b%10)
		if shift > 0 {
			dst = append(dst, '.')
		}
	}
	return dst, true
}
