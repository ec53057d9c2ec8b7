import { ERRORS } from '#shared/error-table.ts'
import { ERROR_CODES } from '#shared/errors.ts'

/** Counts of calls without the expected answer, by status and reason: `429 too_many_in_flight`. */
export type Refusals = ReadonlyMap<string, number>

const CALLS = /^market_calls_total\{.*code="([a-z_]+)".*\} (\d+)$/gm
/** Requests that were refused unread. They do not count as calls. */
const UNREAD = /^market_admission_refusals_total\{source="([a-z_]+)"\} (\d+)$/gm

/** Reads the counts that a data plane has kept since its start. */
export async function countRefusals(origin: string): Promise<Refusals> {
  const text = await (await fetch(`${origin}/metrics`)).text()
  const counted = new Map<string, number>()
  const add = (reason: string, count: string) => counted.set(reason, (counted.get(reason) ?? 0) + Number(count))
  for (const [, code = '', count = ''] of text.matchAll(CALLS)) add(`${statusOf(code)} ${code}`, count)
  for (const [, source = '', count = ''] of text.matchAll(UNREAD)) add(`503 overloaded by ${source}`, count)
  return counted
}

/** Describes the refusals since `before`. */
export function describeRefusals(before: Refusals, after: Refusals): string {
  const more = [...after].map(([reason, count]) => ({ reason, count: count - (before.get(reason) ?? 0) }))
  return more
    .filter(({ count }) => count > 0)
    .map(({ reason, count }) => `${count} x ${reason}`)
    .join(', ')
}

function statusOf(text: string): number | string {
  const code = ERROR_CODES.find((known) => known === text)
  return code === undefined ? '?' : ERRORS[code].status
}
