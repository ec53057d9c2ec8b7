import type { BilledLine } from '#control-plane/db/provider-bills.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { MINUTE, SECOND, utcDay } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Secret } from '#shared/secret.ts'
import type { ReportPage } from './read-bill.ts'
import { checkLines, MAX_BILL_LINES, readAnthropicCosts, readOpenaiCosts, readOpenrouterActivity } from './read-bill.ts'

/** Most pages of a report, the time limit for all of them, and the days of a page. */
const MAX_PAGES = 60
const MAX_REPORT_MS = MINUTE
const DAYS_A_PAGE = '7'
/** Most results of a report for one line of a bill: projects, tiers and context sizes. */
const RESULTS_A_LINE = 4

type Window = { readonly from: number; readonly to: number }

/** A provider's cost report: its path under the base URL, the header of the key, and the reader of a page. */
type CostReport = {
  readonly path: string
  readonly header: string
  readonly prefix: string
  readonly more?: Readonly<Record<string, string>>
  readonly query: (window: Window) => Readonly<Record<string, string>>
  readonly read: (json: unknown) => ReportPage
}

/** Reports by the provider's id in the allow-list, whose record has the address. */
const REPORTS: ReadonlyMap<string, CostReport> = new Map<string, CostReport>([
  [
    'openai',
    {
      path: '/organization/costs',
      header: 'authorization',
      prefix: 'Bearer ',
      query: ({ from, to }) => ({
        start_time: String(from / 1_000),
        end_time: String(to / 1_000),
        bucket_width: '1d',
        group_by: 'line_item',
        limit: DAYS_A_PAGE,
      }),
      read: readOpenaiCosts,
    },
  ],
  [
    'anthropic',
    {
      path: '/organizations/cost_report',
      header: 'x-api-key',
      prefix: '',
      more: { 'anthropic-version': '2023-06-01' },
      query: ({ from, to }) => ({
        starting_at: new Date(from).toISOString(),
        ending_at: new Date(to).toISOString(),
        'group_by[]': 'description',
        limit: DAYS_A_PAGE,
      }),
      read: readAnthropicCosts,
    },
  ],
  [
    'openrouter',
    { path: '/activity', header: 'authorization', prefix: 'Bearer ', query: () => ({}), read: readOpenrouterActivity },
  ],
])

/** Providers whose report can be fetched with an admin key. */
export const REPORTING_PROVIDERS: readonly string[] = [...REPORTS.keys()]

type Place = { readonly id: string; readonly baseUrl: string }

/**
 * Fetches the cost report of a provider for whole days that are over. The key is sent to the provider's own address and
 * never stored. Throws `provider_probe_failed` for a provider that refuses, does not answer or answers nonsense.
 */
export async function fetchReport(
  ctx: Pick<Ctx, 'askReport' | 'clock'>,
  { id, baseUrl }: Place,
  apiKey: Secret,
  window: Window,
): Promise<BilledLine[]> {
  const report = REPORTS.get(id)
  if (report === undefined) {
    const message = `Only these providers have a report that an admin key opens: ${REPORTING_PROVIDERS.join(', ')}. Import a file instead.`
    throw new AppError('invalid_request', { message, param: 'provider' })
  }
  const failed = (reason: string, status: number | null = null, retryAfterMs?: number) =>
    new AppError('provider_probe_failed', {
      message: `The report could not be read: ${reason}.`,
      detail: { provider: id, provider_status: status, reason },
      ...(retryAfterMs !== undefined && { retryAfterSeconds: Math.ceil(retryAfterMs / SECOND) }),
    })
  const { header, prefix, more = {}, query, read } = report
  const url = new URL(baseUrl.replace(/\/+$/, '') + report.path)
  for (const [name, value] of Object.entries(query(window))) url.searchParams.append(name, value)
  const lines: ReportPage['lines'][number][] = []
  const seenPages = new Set<string>()
  const until = ctx.clock.now() + MAX_REPORT_MS
  for (let page = 1; ; page++) {
    if (page > MAX_PAGES) throw failed(`it has more than ${MAX_PAGES} pages`)
    if (ctx.clock.now() > until) throw failed('it takes too long')
    const response = await ctx.askReport({ url, method: 'GET', header, prefix, apiKey, more })
    if (response === undefined) throw failed('the provider could not be reached')
    const { status, body, retryAfterMs } = response
    if (status === 401 || status === 403) throw failed('the provider refused the key', status)
    if (status === 429) throw failed('the provider limits the rate of the key; try again later', status, retryAfterMs)
    if (status !== 200) throw failed('the provider did not send it', status)
    const refusal = (reason: string) => failed(`page ${page}, ${reason}`, status)
    const { lines: rawLines, next } = orRefuse(() => read(readJson(body, refusal)), refusal)
    lines.push(...rawLines)
    if (lines.length > MAX_BILL_LINES * RESULTS_A_LINE) throw failed('it has too many lines')
    if (next === null) {
      const own = lines.filter(({ day }) => isWithin(day, window))
      return orRefuse(() => checkLines(own, ctx.clock.now(), { isPlain: false }), failed)
    }
    if (seenPages.has(next)) throw failed('it names a page twice')
    seenPages.add(next)
    url.searchParams.set('page', next)
  }
}

/** Reads a page as JSON. */
function readJson(body: string | undefined, failed: (reason: string) => AppError): unknown {
  if (body === undefined) throw failed('it is too long')
  try {
    return JSON.parse(body)
  } catch {
    throw failed('it is not JSON')
  }
}

/** Runs a reader. Its error names the place in the report, and quotes only the names of the report. */
function orRefuse<Result>(read: () => Result, failed: (reason: string) => AppError): Result {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_request') throw error
    throw failed(error.message.replace(/\.$/, ''))
  }
}

/**
 * A day outside the window, such as an unfinished one, is left to the next report. Malformed days are handled later.
 */
function isWithin(day: string, { from, to }: Window): boolean {
  return !/^\d{4}-\d{2}-\d{2}$/.test(day) || (day >= utcDay(from) && day < utcDay(to))
}
