import { sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fastify } from 'fastify'
import { SECOND } from '#shared/clock.ts'
import { AppError, toAppError } from '#shared/errors.ts'
import { createHeadCheck } from '#shared/http-head.ts'
import { codeOfStatus, toRestError } from './api/errors.ts'
import { GRAPHQL_PATH, mountGraphQL } from './api/graphql/door.ts'
import { acceptJsonOnly } from './api/json-body.ts'
import { mountPage } from './api/page/door.ts'
import { mountPayments } from './api/payments/door.ts'
import { mountFacilitator } from './api/payments/facilitator.ts'
import { mountReference } from './api/reference/door.ts'
import { envelopeOf, methodsOf, mountRest } from './api/rest/door.ts'
import { UNSUBSCRIBE_PATH } from './api/rest/webhooks.ts'
import { chargeStranger, refuseSpentSender } from './api/strangers.ts'
import { mountTrpc } from './api/trpc/door.ts'
import { connectionsOf, mountHealth } from './health-server.ts'
import { mountMetrics } from './observe/http-metrics.ts'
import type { ControlPlane } from './plane.ts'

const BODY_LIMIT = 1_024 * 1_024
const MAX_PATH_PART = 2_048
const REQUEST_TIMEOUT_MS = 30 * SECOND
/** The path fits both the source tree and a bundle: in both, the docs are next to the folder. */
const DOCUMENTATION = new URL('../docs/', import.meta.url)
const PAGE = new URL('../dist/dashboard/', import.meta.url)

/**
 * Creates the control plane's server with the doors, health and metrics. The owner of `plane` closes it after the
 * server.
 */
export async function createServer(plane: ControlPlane): Promise<FastifyInstance> {
  const connections = connectionsOf(plane)
  const server = fastify({
    bodyLimit: BODY_LIMIT,
    genReqId: () => plane.ids.requestId(),
    requestIdHeader: false,
    trustProxy: [...plane.config.trustedProxies],
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PATH_PART },
    exposeHeadRoutes: false,
    ...connections.options,
    // The path cannot be decoded, so no hook runs for this request.
    frameworkErrors: (error, request, reply) => {
      markAnswer(request, reply)
      return sendError(plane, { error, request, reply })
    },
  })
  connections.attach(server)
  plane.traces?.watch(server)
  acceptJsonOnly(server, UNSUBSCRIBE_PATH)
  const faultOfHead = createHeadCheck()
  server.addHook('onRequest', async (request, reply) => {
    markAnswer(request, reply)
    plane.untrustedProxies.see(request)
    const fault = faultOfHead(request.raw)
    if (fault !== undefined) return sendError(plane, { ...fault, request, reply })
    // The page and the documents are public.
    if (request.method !== 'GET') refuseSpentSender(plane, request)
    return undefined
  })
  server.setErrorHandler((error, request, reply) => sendError(plane, { error, request, reply }))
  const pageFolder = plane.config.pageDir === undefined ? PAGE : folderUrl(plane.config.pageDir)
  const page = mountPage(server, plane, pageFolder, plane.config)
  server.setNotFoundHandler(async (request, reply) => {
    const path = pathOf(request)
    const methods = path === GRAPHQL_PATH ? ['GET', 'POST'] : methodsOf(path)
    if (methods === undefined) {
      if (await page.answer(request, reply)) return reply
      throw new AppError('not_found')
    }
    reply.header('allow', methods.join(', '))
    throw new AppError('method_not_allowed')
  })
  mountHealth(server, plane)
  mountMetrics(server, plane.registry)
  mountRest(server, plane)
  mountPayments(server, plane)
  mountFacilitator(server, plane)
  mountReference(server, { texts: DOCUMENTATION, pages: new URL('docs/', pageFolder) }, plane.config)
  mountGraphQL(server, plane, plane.config)
  await mountTrpc(server, plane)
  return server
}

function markAnswer(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('cache-control', 'no-store')
}

function folderUrl(path: string): URL {
  return pathToFileURL(path.endsWith(sep) ? path : `${path}${sep}`)
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? request.url
}

/** True when the client closed its connection before the end of its body. That is not our failure. */
function isBrokenOff(error: unknown, { raw }: FastifyRequest): boolean {
  return raw.readableAborted && error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}

function brokenOff(cause: unknown): AppError {
  return new AppError('invalid_request', { message: 'The body broke off before its end.', cause })
}

type Failure = {
  readonly error: unknown
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly status?: number
}

/** Turns every thrown error into an envelope. Only failures of our own side are logged as errors. */
function sendError(plane: ControlPlane, { error, request, reply, status: statedStatus }: Failure): FastifyReply {
  const namedError = isFrameworkError(error) ? new AppError(codeOfStatus(error.statusCode), { cause: error }) : error
  const refused = isBrokenOff(error, request) ? brokenOff(error) : toAppError(namedError)
  const appError = chargeStranger(plane, request, refused)
  const facts = { err: appError, request_id: request.id, path: request.routeOptions.url, method: request.method }
  if (appError.code === 'internal_error') plane.log.error(facts, 'a request failed')
  else plane.log.debug(facts, 'a request was refused')
  const { status, headers, body } = toRestError(appError, envelopeOf(pathOf(request)), request.id)
  return reply
    .status(appError === refused ? (statedStatus ?? status) : status)
    .headers(headers)
    .send(body)
}

function isFrameworkError(error: unknown): error is FastifyError & { statusCode: number } {
  return (
    error instanceof Error &&
    !(error instanceof AppError) &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('FST_') &&
    'statusCode' in error &&
    typeof error.statusCode === 'number'
  )
}
