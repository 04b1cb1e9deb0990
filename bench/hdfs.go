package main

import (
	"fmt"
	"log"
	"os"
	"strings"
)

// hdfsBar is the most CPU time that job b may take on HDFS, in times of that on the local disk.
const hdfsBar = 1.15

// onHDFS compares the CPU time of a job whose table, checkpoints and log are on the HDFS of with_peers.sh with that on the local disk, in rounds
// that alternate; the first is discarded, and its files on HDFS are read by DuckDB.
func (b *bench) onHDFS(job string) row {
	what := fmt.Sprintf("%s. %s: CPU time with table and state on HDFS, in times of that on the local disk", job, title[job])
	var local, remote []float64
	for round := range b.rounds + 1 {
		l, err := b.runStaunch(job, false)
		if err != nil {
			return missing(what, fmt.Errorf("local disk: %w", err))
		}
		h, err := b.runHDFS(job, round == 0)
		if err != nil {
			return missing(what, err)
		}
		log.Printf("job %s round %d: local disk %.2f CPU-s, %.2f s; HDFS %.2f CPU-s, %.2f s, peak %s", job, round, l.cpu, l.wall, h.cpu, h.wall, mib(h.peak))
		if round > 0 {
			local, remote = append(local, l.cpu), append(remote, h.cpu)
		}
	}
	v := median(remote) / median(local)
	text := fmt.Sprintf("%.2f (%.2f and %.2f CPU-s)", v, median(remote), median(local))
	if job != "b" {
		return figure(what, text)
	}
	return barred(what, text, fmt.Sprintf("%.2f", hdfsBar), v <= hdfsBar)
}

// runHDFS runs a job with everything on HDFS.
func (b *bench) runHDFS(job string, verify bool) (usage, error) {
	const scheme = "'path' = 'file://${OUT_DIR}/"
	dir := fmt.Sprintf("hdfs://testbed/bench-%d", os.Getpid())
	s, err := b.script(job, scheme, "'path' = '"+dir+"/")
	if err != nil {
		return usage{}, err
	}
	id := fmt.Sprintf("s%d", b.runs)
	s.state = dir + "/state-" + id
	u, err := b.bounded(s, nil)
	if err == nil && verify {
		err = b.verify(dir+"/"+job+"-"+id, map[string]string{"b": "parquet", "c": "json"}[job])
	}
	if err != nil {
		return u, fmt.Errorf("HDFS: %w", err)
	}
	return u, nil
}

// hdfsRows measures what jobs cost on HDFS.
func (b *bench) hdfsRows(jobs string) (rows []row) {
	for _, job := range []string{"b", "c"} {
		if strings.Contains(jobs, job) {
			rows = append(rows, b.onHDFS(job))
		}
	}
	return rows
}
