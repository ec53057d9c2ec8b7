/** Reads a Retry-After header in milliseconds, at most `mostMs`. It holds seconds or a date (RFC 9110, 10.2.3). */
export function readRetryAfter(value: string | string[] | undefined, now: number, mostMs: number): number | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,15}$/.test(value)) return Math.min(Number(value) * 1_000, mostMs)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - now), mostMs)
}

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const
/** A length of time in the forms of OpenAI (`6m0s`, `120ms`) and Google (`12.5s`). */
const WAIT = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[hms]) ?){1,4}$/

/** Parses a length of time into milliseconds. Undefined for any other text. */
export function readWait(text: string): number | undefined {
  if (!WAIT.test(text)) return undefined
  let ms = 0
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|[hms])/g)) {
    ms += Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS]
  }
  return Math.ceil(ms)
}

type Headers = { readonly [name: string]: string | string[] | undefined }

/** The headers with the reset of a limit, and those with its remainder. */
const RESETS = [
  ['x-ratelimit-reset-requests', 'x-ratelimit-remaining-requests'],
  ['x-ratelimit-reset-tokens', 'x-ratelimit-remaining-tokens'],
  ['anthropic-ratelimit-requests-reset', 'anthropic-ratelimit-requests-remaining'],
  ['anthropic-ratelimit-tokens-reset', 'anthropic-ratelimit-tokens-remaining'],
  ['anthropic-ratelimit-input-tokens-reset', 'anthropic-ratelimit-input-tokens-remaining'],
  ['anthropic-ratelimit-output-tokens-reset', 'anthropic-ratelimit-output-tokens-remaining'],
  ['x-ratelimit-reset', 'x-ratelimit-remaining'],
  ['ratelimit-reset', 'ratelimit-remaining'],
] as const

/**
 * Reads the pause that a provider asks for, in milliseconds and at most `mostMs`: `retry-after-ms`, `Retry-After`, and
 * of a 429 the latest reset of the used-up limits. A limit with a remainder does not count.
 */
export function readProviderWait(
  status: number,
  headers: Headers,
  { now, mostMs }: { readonly now: number; readonly mostMs: number },
): number | undefined {
  const exact = headers['retry-after-ms']
  if (typeof exact === 'string' && /^\d{1,12}(?:\.\d{1,6})?$/.test(exact))
    return Math.min(Math.ceil(Number(exact)), mostMs)
  const plain = readRetryAfter(headers['retry-after'], now, mostMs)
  if (plain !== undefined || status !== 429) return plain
  let longest: number | undefined
  for (const [reset, remaining] of RESETS) {
    const ms = isUsedUp(headers[remaining]) ? readReset(headers[reset], now) : undefined
    if (ms !== undefined) longest = Math.max(longest ?? 0, ms)
  }
  return longest === undefined ? undefined : Math.min(longest, mostMs)
}

function isUsedUp(remaining: string | string[] | undefined): boolean {
  return remaining === undefined || (typeof remaining === 'string' && /^0+(?:\.0+)?$/.test(remaining))
}

/** Reads seconds from now, an instant in Unix seconds or milliseconds, a length of time, or a date. */
function readReset(value: string | string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,15}(?:\.\d{1,6})?$/.test(value)) {
    const figure = Number(value)
    if (figure > 1e12) return Math.max(0, Math.ceil(figure - now))
    return figure > 1e9 ? Math.max(0, Math.ceil(figure * 1_000 - now)) : Math.ceil(figure * 1_000)
  }
  const at = Date.parse(value)
  return readWait(value) ?? (Number.isNaN(at) ? undefined : Math.max(0, at - now))
}
