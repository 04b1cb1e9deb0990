//go:build peer

package hdfs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"staunch/test/peer"
)

// tree reads everything below a folder through the active NameNode's WebHDFS, which shares no code with Staunch: contents by path, and "/"
// for a folder. A file that is open has no content yet.
func tree(t testing.TB, h *peer.HDFS, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	w := web{&http.Client{Timeout: limit}, h.Web[peer.Index(h.Active())]}
	if err := w.walk(dir, out); err != nil {
		t.Fatal(err)
	}
	return out
}

type web struct {
	c    *http.Client
	addr string
}

func (w web) get(p, op string) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: w.addr, Path: "/webhdfs/v1" + p, RawQuery: "op=" + op}
	end := time.Now().Add(limit)
	for { // a block that its DataNode has only just finished may not be known there yet
		r, err := w.c.Get(u.String())
		if err != nil {
			return nil, err
		}
		if r.StatusCode == http.StatusOK {
			return r, nil
		}
		b, err := io.ReadAll(r.Body)
		_ = r.Body.Close() // it was read
		if op == "OPEN" && r.StatusCode == http.StatusForbidden && time.Now().Before(end) {
			continue
		}
		return nil, fmt.Errorf("%s: %s %s %v", u.String(), r.Status, b, err)
	}
}

func (w web) walk(dir string, out map[string]string) error {
	r, err := w.get(dir, "LISTSTATUS")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var list struct {
		FileStatuses struct {
			FileStatus []struct {
				PathSuffix, Type string
				Length           int64
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		return err
	}
	for _, f := range list.FileStatuses.FileStatus {
		p := dir + "/" + f.PathSuffix
		switch {
		case f.Type == "DIRECTORY":
			out[p] = "/"
			if err := w.walk(p, out); err != nil {
				return err
			}
		case f.Length == 0:
			out[p] = ""
		default:
			r, err := w.get(p, "OPEN")
			if err != nil {
				return err
			}
			b, err := io.ReadAll(r.Body)
			_ = r.Body.Close() // it was read
			if err != nil {
				return err
			}
			out[p] = string(b)
		}
	}
	return nil
}
