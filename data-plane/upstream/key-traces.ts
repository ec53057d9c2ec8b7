/**
 * Finds a credential in a text, whole or in part. It also finds encodings in which servers echo a request: percent
 * signs, escapes of JSON and JavaScript, character references of HTML, base64 in both alphabets, hexadecimal. Letter
 * case and characters between letters and digits do not count.
 */

/**
 * A run of this many characters of a credential must not leave this process. Shorter credentials are searched for
 * whole.
 */
const RUN = 8
const LEAST_RUN = 4
/** Most nested encodings that are undone, and the most texts and characters that one search reads. */
const MAX_DEPTH = 3
const MAX_READINGS = 128
const MAX_CHARS = 8_192
const BASE64_RUN = /[A-Za-z0-9+/_-]{10,}/g
const BASE64_OFFSETS = [0, 1, 2, 3] as const
const HEX_RUN = /(?:[0-9a-fA-F]{2}[\s:,-]?){7,}[0-9a-fA-F]{2}/g

/** True when the text holds a run of the key. */
export function holdsKey(text: string, key: string): boolean {
  const runs = runsOf(bare(key))
  if (runs.size === 0) return false
  for (const reading of readings(text.slice(0, MAX_CHARS))) if (hasRun(bare(reading), runs)) return true
  return false
}

function bare(text: string): string {
  return text.replace(/[^A-Za-z0-9]+/g, '').toLowerCase()
}

function runsOf(key: string): Set<string> {
  if (key.length < LEAST_RUN) return new Set()
  const length = Math.min(RUN, key.length)
  return new Set(Array.from({ length: key.length - length + 1 }, (_, at) => key.slice(at, at + length)))
}

function hasRun(text: string, runs: ReadonlySet<string>): boolean {
  const length = runs.values().next().value?.length ?? 0
  for (let at = 0; at + length <= text.length; at++) if (runs.has(text.slice(at, at + length))) return true
  return false
}

/** The text, and its decoded forms, including nested encodings. */
function readings(text: string): Set<string> {
  const traces = new Set([text])
  let newest = [text]
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next: string[] = []
    for (const reading of newest.flatMap(decodings)) {
      if (traces.has(reading) || traces.size >= MAX_READINGS) continue
      traces.add(reading)
      next.push(reading)
    }
    newest = next
  }
  return traces
}

function decodings(text: string): string[] {
  const runs = text.match(BASE64_RUN) ?? []
  return [
    text.replace(/%([0-9a-fA-F]{2})/g, (_, code: string) => character(code, 16)),
    text
      .replace(/\\u\{?([0-9a-fA-F]{2,6})\}?/g, (_, code: string) => character(code, 16))
      .replace(/\\x([0-9a-fA-F]{2})/g, (_, code: string) => character(code, 16)),
    text
      .replace(/&#x([0-9a-fA-F]{2,6});?/gi, (_, code: string) => character(code, 16))
      .replace(/&#(\d{2,7});?/g, (_, code: string) => character(code, 10)),
    ...runs.flatMap((run) =>
      BASE64_OFFSETS.map((offset) => Buffer.from(run.slice(offset), 'base64').toString('latin1')),
    ),
    ...(text.match(HEX_RUN) ?? []).map((run) =>
      Buffer.from(run.replace(/[^0-9a-fA-F]/g, ''), 'hex').toString('latin1'),
    ),
  ]
}

function character(code: string, base: number): string {
  const point = Number.parseInt(code, base)
  return point <= 0x10ffff ? String.fromCodePoint(point) : ''
}
