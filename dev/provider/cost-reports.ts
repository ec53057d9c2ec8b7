import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { Reply } from './reply.ts'

/** A billed line: a UTC day, the model, the part of the cost, and US dollars. */
const BilledSchema = z.object({ day: z.iso.date(), model: z.string(), line: z.string(), usd: z.number() })
type Billed = z.infer<typeof BilledSchema>

/** The bills of a provider's account. `raw` is sent in place of every report. */
const BillsSchema = z.object({
  lines: z.array(BilledSchema).default([]),
  raw: z.object({ status: z.number().int(), text: z.string() }).optional(),
})

/** The bills of a provider, which tests set. */
export type BillBook = {
  readonly now: () => z.infer<typeof BillsSchema>
  /** Replaces the bills. Answers like an admin path. */
  readonly put: (body: unknown) => [number, object]
}

export function createBillBook(): BillBook {
  let bills = BillsSchema.parse({})
  return {
    now: () => bills,
    put: (body) => {
      const read = BillsSchema.safeParse(body)
      if (!read.success) return [400, { error: 'expected { lines: [{ day, model, line, usd }], raw? }' }]
      bills = read.data
      return [200, { ok: true }]
    },
  }
}

const ADMIN_KEY = /^(?:Bearer )?sk-admin\S*$/
const ONE_DAY_MS = 86_400_000

/** Responds to a request for a cost report like OpenAI, Anthropic and OpenRouter. False for any other call. */
export function serveReports(book: BillBook, { method, url = '/', headers }: IncomingMessage, reply: Reply): boolean {
  const [path = '', ...rest] = url.split('?')
  const report = method === 'GET' ? REPORTS.get(path) : undefined
  if (report === undefined) return false
  const bills = book.now()
  const key = path === ANTHROPIC ? headers['x-api-key'] : headers.authorization
  if (!ADMIN_KEY.test(String(key ?? ''))) {
    reply.json(401, { error: { message: 'This report needs an admin key.', type: 'invalid_request_error' } })
  } else if (bills.raw !== undefined) {
    reply.headers(bills.raw.status, { 'content-type': 'application/json' })
    reply.end(bills.raw.text)
  } else {
    reply.json(200, report(bills.lines, new URLSearchParams(rest.join('?'))))
  }
  return true
}

const ANTHROPIC = '/v1/organizations/cost_report'

const REPORTS: ReadonlyMap<string, (lines: readonly Billed[], query: URLSearchParams) => object> = new Map<
  string,
  (lines: readonly Billed[], query: URLSearchParams) => object
>([
  [
    '/v1/organization/costs',
    (lines, query) => {
      const window = { from: Number(query.get('start_time')) * 1_000, to: Number(query.get('end_time')) * 1_000 }
      return pageOf(lines, window, query, (start, own) => ({
        object: 'bucket',
        start_time: start / 1_000,
        end_time: start / 1_000 + ONE_DAY_MS / 1_000,
        results: own.map(({ model, line, usd }) => ({
          object: 'organization.costs.result',
          amount: { value: usd, currency: 'usd' },
          line_item: line === '' ? model : `${model}, ${line}`,
          project_id: null,
        })),
      }))
    },
  ],
  [
    ANTHROPIC,
    (lines, query) => {
      const at = (name: string) => Date.parse(query.get(name) ?? '')
      return pageOf(lines, { from: at('starting_at'), to: at('ending_at') }, query, (start, own) => ({
        starting_at: new Date(start).toISOString(),
        ending_at: new Date(start + ONE_DAY_MS).toISOString(),
        results: own.map(({ model, line, usd }) => ({
          currency: 'USD',
          amount: (usd * 100).toFixed(8),
          model,
          token_type: line === '' ? null : line,
          description: `${model} Usage`,
          cost_type: 'tokens',
        })),
      }))
    },
  ],
  [
    '/v1/activity',
    (lines) => ({ data: lines.map(({ day, model, usd }) => ({ date: day, model, usage: usd, requests: 1 })) }),
  ],
])

type Window = { readonly from: number; readonly to: number }

/** A page of buckets of one day each, as many as the query's limit. */
function pageOf(
  lines: readonly Billed[],
  { from, to }: Window,
  query: URLSearchParams,
  bucketOf: (start: number, own: readonly Billed[]) => object,
): object {
  const limit = Number(query.get('limit') ?? 7)
  const first = from + Number(query.get('page') ?? 0) * limit * ONE_DAY_MS
  const starts = Array.from({ length: limit }, (_, at) => first + at * ONE_DAY_MS).filter((start) => start < to)
  const more = first + limit * ONE_DAY_MS < to
  return {
    object: 'page',
    data: starts.map((start) =>
      bucketOf(
        start,
        lines.filter(({ day }) => Date.parse(day) === start),
      ),
    ),
    has_more: more,
    next_page: more ? String(Number(query.get('page') ?? 0) + 1) : null,
  }
}
