// Package datetime has Flink SQL's date and time arithmetic as pure functions over integers: parsing, printing, Java
// pattern letters, EXTRACT, FLOOR/CEIL, intervals and time zones.
//
// Before it on the path: bytes of a record or a SQL literal. Behind it: columns of int32 (DATE in days, TIME in milliseconds of
// the day, year-month intervals in months) and int64 (TIMESTAMP and TIMESTAMP_LTZ in units since 1970-01-01 00:00:00,
// day-time intervals in milliseconds). A timestamp's unit is given as units per second (1_000, 1_000_000 or 1_000_000_000, see
// types.Type.UnitsPerSecond).
//
// Invariants:
//   - The calendar is the proleptic Gregorian one, for every year an int64 of milliseconds reaches; text covers the years 0 to 9999
//     as Flink's does.
//   - All divisions of a time line floor. Flink 2.3 truncates in EXTRACT, CAST(.. AS DATE) and FLOOR(.. TO MONTH), which falsifies
//     timestamps with a fraction before 1970; here they are right.
//   - No function panics, whatever the bytes. A parser says ok = false (or an error); it never guesses.
//   - Functions that append allocate nothing but what append needs; Zone and Pattern are immutable and may be shared.
//
// The two pattern dialects differ: DATE_FORMAT of a timestamp and TO_TIMESTAMP follow java.time.format.DateTimeFormatter
// (Pattern); DATE_FORMAT of a string, FROM_UNIXTIME, UNIX_TIMESTAMP, CONVERT_TZ and TO_DATE with a pattern follow
// java.text.SimpleDateFormat (LegacyPattern), which is lenient and ignores what stands behind the match.
//
// Where this package differs from Flink 2.3.0 on purpose: times before 1970 (above); years outside 0 to 9999 are refused; TIME with an
// offset that leaves the day wraps, and 23:59:59.9999 stays on its day; TO_TIMESTAMP with an impossible month or day of an incomplete
// date is NULL instead of a failure; two-digit years of LegacyPattern lie between 1945 and 2044 whatever the day is; FLOOR and CEIL
// know no Julian calendar before 1582.
//
// Source: Flink 2.3.0, org.apache.flink.table.utils.DateTimeUtils and the measured rows in testdata.
package datetime
