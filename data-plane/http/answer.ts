import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestHead } from '#data-plane/call.ts'
import type { Entrance } from '#data-plane/pipeline/entrance.ts'
import { recognize } from '#data-plane/pipeline/entrance.ts'
import type { JobRoute } from '#data-plane/pipeline/jobs/job-plane.ts'
import { listJobs } from '#data-plane/pipeline/jobs/list-jobs.ts'
import { findFile, showJob } from '#data-plane/pipeline/jobs/show-job.ts'
import { adaptedList } from '#data-plane/pipeline/reply-headers.ts'
import { readHeaders } from '#data-plane/reads/read.ts'
import { AppError } from '#shared/errors.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import { cleanLine } from '#shared/texts.ts'
import { CORS_HEADERS, idHeaders } from './http-reply.ts'
import { readRequestHead } from './raw-request.ts'
import type { QueryRule, ServesOf } from './row.ts'
import { requestIdOf } from './send-error.ts'
import type { Surface } from './surface.ts'
import type { Handler, Mounted } from './take-in.ts'

/** Most characters of an unknown name that an answer quotes, and most such names. */
const MAX_SHOWN_NAME = 64
const MAX_SHOWN_NAMES = 32

/** Sends a free answer, or 304 to a client whose copy is current. */
export function answerRead({ surface, row, reading }: Mounted, { read, keys, ...rule }: ServesOf<'read'>): Handler {
  return async (request, reply) => {
    const head = readRequestHead(request, requestIdOf(request), reading)
    const payer = keys && (await requireKey(keys, head))
    const { query, ignored } = readQuery(request, rule)
    const { params, pathFloorPercent: floorPercent } = head
    const answer = await read(surface.reads, { params, query, floorPercent, payer })
    const headers = readHeaders(answer, keys === undefined ? 'public' : 'private')
    reply.headers({ ...CORS_HEADERS, ...idHeaders(row, request.id), ...headers, 'content-type': 'application/json' })
    nameIgnored(reply, [...ignored, ...(answer.ignored ?? [])])
    if (request.headers['if-none-match'] === headers.etag) return reply.code(304).send()
    return reply.send(answer.json)
  }
}

/** Throws AppError for a request without a key that may buy: `authentication_required` and the refusals of the rail. */
async function requireKey(rails: Entrance['rails'], head: RequestHead) {
  const payment = recognize({ rails }, head)
  if (payment === undefined) throw new AppError('authentication_required')
  return payment.identify()
}

/** Names the members of a query that have no effect on an answer. */
function nameIgnored(reply: FastifyReply, names: readonly string[]): void {
  if (names.length > 0) reply.header('x-mkt-adapted-params', adaptedList(names))
}

/** Sends an answer to the holder of a key. */
export function answerLookup({ surface, reading }: Mounted, serves: ServesOf<'lookup'>): Handler {
  return async (request, reply) => {
    const { params } = readRequestHead(request, requestIdOf(request), reading)
    nameIgnored(reply, readQuery(request, serves).ignored)
    const record = await lookUp(surface, serves, request, params)
    if (record === undefined) throw new AppError('not_found', { message: 'No call has this request id.' })
    return sendPrivately(request, reply, JSON.stringify(record))
  }
}

/**
 * Serves a GET of one record under a prefix if the lookup finds it. Leaves every other request to the next handler.
 */
export function answerFirst(
  surface: Surface,
  serves: ServesOf<'lookup'>,
  under: { readonly prefix: string; readonly name: string },
) {
  const beginning = `${under.prefix}/`
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const [path = ''] = request.url.split('?', 1)
    const value = path.slice(beginning.length)
    const isOne = path.startsWith(beginning) && value !== '' && !value.includes('/')
    if (request.method !== 'GET' || !isOne) return undefined
    const record = await lookUp(surface, serves, request, { [under.name]: value })
    return record === undefined ? undefined : sendPrivately(request, reply, JSON.stringify(record))
  }
}

function lookUp(
  { lookups }: Surface,
  { look, ...rule }: ServesOf<'lookup'>,
  request: FastifyRequest,
  params: Readonly<Record<string, string>>,
) {
  return look(lookups, { authorization: request.headers.authorization, params, query: readQuery(request, rule).query })
}

/** Sends the state of a long job, or the outcome of its cancellation. */
export function answerForJob({ surface, reading }: Mounted, route: JobRoute, isCancel: boolean): Handler {
  return async (request, reply) => {
    const head = readRequestHead(request, requestIdOf(request), reading)
    const { text, headers } = await showJob(surface.jobs, route, head, isCancel)
    return sendPrivately(request, reply.headers(headers), text)
  }
}

/** Sends the jobs of the holder of a key. */
export function answerJobList({ surface, reading }: Mounted, route: ServesOf<'job-list'>): Handler {
  return async (request, reply) => {
    const head = readRequestHead(request, requestIdOf(request), reading)
    const { query, ignored } = readQuery(request, route)
    nameIgnored(reply, ignored)
    return sendPrivately(request, reply, await listJobs(surface.jobs, route, head, query))
  }
}

/** Redirects to the first file of a job. Throws `not_found` while there is none. */
export function leadToFile({ surface, row, reading }: Mounted, route: ServesOf<'job-content'>): Handler {
  return async (request, reply) => {
    const head = readRequestHead(request, requestIdOf(request), reading)
    const { query, ignored } = readQuery(request, route)
    const variant = query.get('variant')
    nameIgnored(reply, ignored)
    if (variant !== null && variant !== 'video') {
      throw new AppError('model_capability_unsupported', {
        message: 'A job has a video only: no thumbnail and no sprite sheet.',
        param: 'variant',
      })
    }
    const url = await findFile(surface.jobs, route, head)
    return reply.headers({ ...CORS_HEADERS, ...idHeaders(row, request.id), 'cache-control': 'no-store' }).redirect(url)
  }
}

export function answerHealth({ surface }: Mounted, { isWell, words, figures }: ServesOf<'health'>): Handler {
  return (_request, reply) => {
    const [well, ill] = words
    const isAllWell = isWell(surface)
    return reply.code(isAllWell ? 200 : 503).send({ status: isAllWell ? well : ill, ...figures?.(surface) })
  }
}

export function answerMetrics({ surface: { metrics } }: Mounted): Handler {
  return async (_request, reply) => reply.header('content-type', metrics.contentType).send(await metrics.text())
}

/** The members of a query that may have an effect, and the names of the others. */
type ReadQuery = { readonly query: URLSearchParams; readonly ignored: readonly string[] }

/**
 * Parses the query of a request, each member once. Throws `invalid_request` for a member that is given twice, and for
 * an unknown one, unless the rule ignores others.
 */
export function readQuery({ url }: FastifyRequest, { query: knownNames, ignoresOthers }: QueryRule): ReadQuery {
  const at = url.indexOf('?')
  const all = new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
  const query = new URLSearchParams()
  const ignored = new Set<string>()
  for (const [name, value] of all) {
    const param = cleanLine(name, MAX_SHOWN_NAME)
    if (query.has(name)) throw invalidMember(param, 'Send each query parameter once.')
    if (knownNames.includes(name)) query.append(name, value)
    else if (ignoresOthers !== true) throw invalidMember(param, `${param} is not a parameter of this query.`)
    else if (ignored.size < MAX_SHOWN_NAMES) ignored.add(param)
  }
  return { query, ignored: [...ignored] }
}

/** Sends JSON to one caller. No cache may keep it. */
function sendPrivately(request: FastifyRequest, reply: FastifyReply, json: string): FastifyReply {
  reply.headers({ ...CORS_HEADERS, 'x-request-id': request.id, 'cache-control': 'no-store' })
  return reply.header('content-type', 'application/json').send(json)
}
