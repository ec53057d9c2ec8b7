/** Reads a Retry-After header in milliseconds, at most `mostMs`. It holds seconds or a date (RFC 9110, 10.2.3). */
export function readRetryAfter(value: string | string[] | undefined, now: number, mostMs: number): number | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,15}$/.test(value)) return Math.min(Number(value) * 1_000, mostMs)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - now), mostMs)
}
