package config

import "slices"

// Nearest returns the name of known that was most likely meant by name: the one at the smallest edit distance (insertions,
// deletions, replacements, swaps of neighbours), when that is small enough for the length of the name. Of equals the first in
// alphabetical order.
func Nearest(name string, known []string) (string, bool) {
	limit := max(1, min(len(name)/3, 5))
	best, bestDist := "", limit+1
	sorted := slices.Clone(known)
	slices.Sort(sorted)
	for _, k := range sorted {
		if abs(len(k)-len(name)) >= bestDist {
			continue
		}
		if d := Distance(name, k); d < bestDist {
			best, bestDist = k, d
		}
	}
	return best, bestDist <= limit
}

// Distance is the optimal string alignment distance between a and b, by bytes: letters to insert, delete, replace or swap with a neighbour.
func Distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
