package commit

import "strconv"

// Unescape gives the job id that Escape made a folder name of; ok is false for a name that it does not make.
func Unescape(name string) (job string, ok bool) {
	var b []byte
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b = append(b, name[i])
			continue
		}
		if i+3 > len(name) {
			return "", false
		}
		c, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b = append(b, byte(c))
		i += 2
	}
	job = string(b)
	return job, Escape(job) == name
}
