import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestHead } from '#data-plane/call.ts'
import type { Entrance } from '#data-plane/pipeline/entrance.ts'
import { recognize } from '#data-plane/pipeline/entrance.ts'
import { showJob } from '#data-plane/pipeline/finish-job.ts'
import type { JobRoute } from '#data-plane/pipeline/job-plane.ts'
import type { LookUp } from '#data-plane/reads/look-up.ts'
import { readHeaders } from '#data-plane/reads/read.ts'
import { AppError } from '#shared/errors.ts'
import { CORS_HEADERS, idHeaders } from './http-reply.ts'
import { readRequestHead } from './raw-request.ts'
import type { ServesOf } from './row.ts'
import { requestIdOf } from './send-error.ts'
import type { Surface } from './surface.ts'
import type { Handler, Mounted } from './take-in.ts'

/** Sends a free answer, or 304 to a client that has it already. */
export function answerRead({ surface, row, reading }: Mounted, { read, keys }: ServesOf<'read'>): Handler {
  return async (request, reply) => {
    if (keys !== undefined) await requireKey(keys, readRequestHead(request, requestIdOf(request), reading))
    const params = reading.readParams(request.params)
    const answer = await read(surface.reads, { params, query: queryOf(request) })
    const headers = readHeaders(answer, keys === undefined ? 'public' : 'private')
    reply.headers({ ...CORS_HEADERS, ...idHeaders(row, request.id), ...headers, 'content-type': 'application/json' })
    if (request.headers['if-none-match'] === headers.etag) return reply.code(304).send()
    return reply.send(answer.json)
  }
}

/** Throws AppError for a request without a key that may buy: `authentication_required` and the refusals of the rail. */
async function requireKey(rails: Entrance['rails'], head: RequestHead): Promise<void> {
  const payment = recognize({ rails }, head)
  if (payment === undefined) throw new AppError('authentication_required')
  await payment.identify()
}

/** Sends an answer to the holder of a key. */
export function answerLookup({ surface, reading }: Mounted, look: LookUp): Handler {
  return async (request, reply) => {
    const record = await lookUp(surface, look, request, reading.readParams(request.params))
    if (record === undefined) throw new AppError('not_found', { message: 'There is no such request.' })
    return sendPrivately(request, reply, JSON.stringify(record))
  }
}

/**
 * Answers a GET of one thing under a prefix when the lookup knows it. Leaves every other request to the next handler.
 */
export function answerFirst(surface: Surface, look: LookUp, under: { readonly prefix: string; readonly name: string }) {
  const beginning = `${under.prefix}/`
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const [path = ''] = request.url.split('?', 1)
    const value = path.slice(beginning.length)
    const isOne = path.startsWith(beginning) && value !== '' && !value.includes('/')
    if (request.method !== 'GET' || !isOne) return undefined
    const record = await lookUp(surface, look, request, { [under.name]: value })
    return record === undefined ? undefined : sendPrivately(request, reply, JSON.stringify(record))
  }
}

function lookUp({ lookups }: Surface, look: LookUp, request: FastifyRequest, params: Readonly<Record<string, string>>) {
  return look(lookups, { authorization: request.headers.authorization, params, query: queryOf(request) })
}

/** Answers with the state of a long job, or with the outcome of its cancellation. */
export function answerForJob({ surface, reading }: Mounted, route: JobRoute, isCancel: boolean): Handler {
  return async (request, reply) => {
    const head = readRequestHead(request, requestIdOf(request), reading)
    const { text, headers } = await showJob(surface.jobs, route, head, isCancel)
    return sendPrivately(request, reply.headers(headers), text)
  }
}

export function answerHealth({ surface }: Mounted, { isWell, words }: ServesOf<'health'>): Handler {
  return (_request, reply) => {
    const [well, ill] = words
    const isAllWell = isWell(surface)
    return reply.code(isAllWell ? 200 : 503).send({ status: isAllWell ? well : ill })
  }
}

export function answerMetrics({ surface: { metrics } }: Mounted): Handler {
  return async (_request, reply) => reply.header('content-type', metrics.contentType).send(await metrics.text())
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
}

/** Sends JSON to one caller. Nobody may cache it. */
function sendPrivately(request: FastifyRequest, reply: FastifyReply, json: string): FastifyReply {
  reply.headers({ ...CORS_HEADERS, 'x-request-id': request.id, 'cache-control': 'no-store' })
  return reply.header('content-type', 'application/json').send(json)
}
