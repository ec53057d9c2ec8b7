import type { FastifyInstance } from 'fastify'
import fastify from 'fastify'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { SECOND } from '#shared/clock.ts'
import { createConnections } from '#shared/connections.ts'
import type { AppError } from '#shared/errors.ts'
import { createHeadCheck } from '#shared/http-head.ts'
import { networkOf } from '#shared/network-address.ts'
import { answerFirst } from './answer.ts'
import { chargeRefusal } from './charge-refusal.ts'
import { limitConnections } from './connection-limits.ts'
import { createGate } from './gate.ts'
import { logFault } from './log-fault.ts'
import { mountRows } from './mount.ts'
import type { PassedOnPrefix } from './pass-on.ts'
import { mountControlPaths } from './pass-on.ts'
import { isFloor, splitFloor } from './path-floor.ts'
import { familyOf, refusalOf } from './path-refusal.ts'
import { answerPreflight } from './preflight.ts'
import type { ControlPrefix, Voice } from './row.ts'
import { CONTROL_METHODS } from './row.ts'
import { createRowIndex, methodsOf } from './row-index.ts'
import type { Exchange } from './send-error.ts'
import { fromFramework, sendError } from './send-error.ts'
import { connectionRefusals } from './socket-errors.ts'
import type { Surface } from './surface.ts'

const MAX_PATH_PARAMETER_CHARS = 400
const REQUEST_TIMEOUT_MS = 300 * SECOND
/** The body limit of paths without a route. Each route has its own limit. */
const BODY_LIMIT_BYTES = 1_048_576

/** The error format of a path without similar routes, or with similar routes whose formats differ. */
const PLAIN: Voice = { envelope: openAiEnvelope }

/** Builds the HTTP surface: framing, limits, CORS, the one error boundary, and the rows. */
export async function createServer(surface: Surface): Promise<FastifyInstance> {
  const { control, hosts } = surface
  const passedOn = control.url === undefined ? [] : control.prefixes.map((each) => passOn(surface, each))
  // Rows under a prefix that is passed on are not mounted. The prefix tries their lookup first.
  const rows = surface.rows.filter(({ path }) => !passedOn.some(({ prefix }) => isUnder(path, prefix)))
  const index = createRowIndex(rows, PLAIN)
  // HEAD needs no preflight.
  const preflight = methodsOf([...surface.rows, { methods: CONTROL_METHODS }]).filter((method) => method !== 'HEAD')
  const faultOfHead = createHeadCheck()
  const connections = createConnections(connectionRefusals(surface.ids), surface.clock)
  const app = fastify({
    logger: false,
    genReqId: () => surface.ids.requestId(),
    requestIdHeader: false,
    trustProxy: [...surface.trustedProxies],
    bodyLimit: BODY_LIMIT_BYTES,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER_CHARS },
    requestTimeout: REQUEST_TIMEOUT_MS,
    frameworkErrors: (thrown, request, reply) => refuse({ request, reply }, fromFramework(thrown)),
    ...connections.options,
    rewriteUrl: ({ method, url = '/' }) => (method === 'GET' ? withoutFloor(passedOn, url) : url),
  })
  function refuse(exchange: Exchange, error: AppError, status?: number): void {
    const { request } = exchange
    const appError = chargeRefusal(surface, request, error)
    logFault(surface, request, appError)
    sendError(exchange, familyOf(index, request), appError, appError === error ? status : undefined)
  }
  connections.attach(app)
  limitConnections(app.server, surface.maxConnectionsPerAddress)
  app.addHook('onRequest', (request, reply, done) => {
    surface.untrustedProxies.see(request)
    const fault = faultOfHead(request.raw)
    if (fault !== undefined) {
      // The start of the next request is unknown.
      reply.raw.setHeader('connection', 'close')
      refuse({ request, reply }, fault.error, fault.status)
    } else if (request.raw.method === 'OPTIONS') answerPreflight({ request, reply }, preflight)
    else if (!request.is404) done()
    else {
      // The framework's not-found handler would read a useless body first.
      const voice = familyOf(index, request)
      const gate = createGate(surface, { voice, host: voice.host, intake: 'read' })
      gate(request, reply, () => {
        surface.calls.refusedWork.refuseSpent(networkOf(request.ip))
        const error = chargeRefusal(surface, request, refusalOf(index, hosts, { request, reply }))
        sendError({ request, reply }, voice, error)
      })
    }
  })
  app.setErrorHandler((thrown, request, reply) => refuse({ request, reply }, fromFramework(thrown)))
  await app.register((scope, _options, done) => {
    mountRows(scope, surface, rows)
    done()
  })
  if (control.url !== undefined) await mountControlPaths(app, control.url, passedOn)
  return app
}

/** Passes a prefix of the control plane on. A lookup of one record under it first answers what Redis still has. */
function passOn(surface: Surface, { prefix, host }: ControlPrefix): PassedOnPrefix {
  const gates = {
    call: createGate(surface, { host, voice: PLAIN, intake: 'read' }),
    // Streams have places of their own.
    stream: createGate(surface, { host, voice: PLAIN, intake: 'always' }),
  }
  for (const { path, serves } of surface.rows) {
    const name = path.slice(prefix.length + '/:'.length)
    if (serves.kind === 'lookup' && path === `${prefix}/:${name}`) {
      return { prefix, gates, first: answerFirst(surface, serves, { prefix, name }) }
    }
  }
  return { prefix, gates }
}

/**
 * The URL of a passed-on read, for a client whose base URL has a floor: the control plane knows no floors, and none of
 * its answers depends on one.
 */
function withoutFloor(passedOn: readonly PassedOnPrefix[], url: string): string {
  if (!url.startsWith('/min')) return url
  const floored = splitFloor(url, '')
  if (floored === undefined || !isFloor(floored.floor)) return url
  const { rest } = floored
  const [path = ''] = rest.split('?', 1)
  return path.startsWith('/v1/') && passedOn.some(({ prefix }) => isUnder(path, prefix)) ? rest : url
}

function isUnder(path: string, prefix: string): boolean {
  return path === prefix || (prefix !== '/' && path.startsWith(`${prefix}/`))
}
