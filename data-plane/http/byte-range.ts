import type { IncomingHttpHeaders } from 'node:http'

/** Positions of the first and the last byte of a part. */
type Part = { readonly first: number; readonly last: number }

/** The answer to a request for a file: a part, the whole, "not modified", or a part that does not exist. */
export type RangeAnswer =
  | { readonly status: 200 }
  | { readonly status: 206; readonly part: Part }
  | { readonly status: 304 }
  | { readonly status: 416 }

const WHOLE: RangeAnswer = { status: 200 }

/** Parses the requested bytes of a file with this entity tag and length (RFC 9110, sections 13 and 14). */
export function readRangeAnswer(
  method: string,
  headers: IncomingHttpHeaders,
  etag: string,
  bytes: number,
): RangeAnswer {
  if (isAmong(etag, headers['if-none-match'])) return { status: 304 }
  const { range, 'if-range': condition } = headers
  if (method !== 'GET' || range === undefined || (condition !== undefined && condition !== etag)) return WHOLE
  return readRange(range, bytes)
}

function isAmong(etag: string, list: string | undefined): boolean {
  if (list === undefined) return false
  return list.split(',').some((entry) => ['*', etag, `W/${etag}`].includes(entry.trim()))
}

/** Parses one range. Several ranges, other units and malformed ones mean the whole file, as the standard allows. */
function readRange(range: string, bytes: number): RangeAnswer {
  const [all, from = '', to = ''] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(range) ?? []
  if (all === undefined || (from === '' && to === '')) return WHOLE
  if (from === '') {
    const count = Math.min(Number(to), bytes)
    return count === 0 ? { status: 416 } : { status: 206, part: { first: bytes - count, last: bytes - 1 } }
  }
  const first = Number(from)
  if (to !== '' && Number(to) < first) return WHOLE
  if (first >= bytes) return { status: 416 }
  return { status: 206, part: { first, last: to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1) } }
}
