import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerLocally } from '#data-plane/pipeline/answer-locally.ts'
import { submitJob } from '#data-plane/pipeline/jobs/submit-job.ts'
import { refusalHeaders } from '#data-plane/pipeline/reply-headers.ts'
import { serveCall } from '#data-plane/pipeline/serve-call.ts'
import {
  answerForJob,
  answerHealth,
  answerJobList,
  answerLookup,
  answerMetrics,
  answerRead,
  leadToFile,
} from './answer.ts'
import { answerArtifact } from './answer-artifact.ts'
import type { BodySpool } from './body-spool.ts'
import { createBodySpool } from './body-spool.ts'
import { chargeRefusal, hasGoodKey } from './charge-refusal.ts'
import type { Intake } from './gate.ts'
import { createGate } from './gate.ts'
import { logFault } from './log-fault.ts'
import type { ReadingRules } from './raw-request.ts'
import type { Kind, Row, ServesOf } from './row.ts'
import { fromFramework, sendError } from './send-error.ts'
import type { Surface } from './surface.ts'
import type { Handler, Mounted } from './take-in.ts'
import { takeIn } from './take-in.ts'

type KindRules<K extends Kind> = {
  readonly intake: Intake
  /** True when a refusal before the call began has a cost header. */
  readonly tellsCost?: true
  /** True when the refusal itself shows whether the key of a request was valid. */
  readonly looksAtKeyFirst?: true
  handler(mounted: Mounted, serves: ServesOf<K>): Handler
}

/** Rules for each kind of row. */
const KINDS: { readonly [K in Kind]: KindRules<K> } = {
  call: {
    intake: 'work',
    tellsCost: true,
    handler: (mounted, route) =>
      takeIn(mounted, {
        serve: (incoming, reply) => serveCall(mounted.surface.calls, route, incoming, reply),
        isCounted: true,
      }),
  },
  'job-submit': {
    intake: 'read',
    handler: (mounted, route) =>
      takeIn(mounted, {
        serve: (incoming, reply) => submitJob(mounted.surface.jobs, route, incoming, reply),
        isCounted: true,
      }),
  },
  'job-question': {
    intake: 'read',
    looksAtKeyFirst: true,
    handler: (mounted, route) => answerForJob(mounted, route, false),
  },
  'job-cancel': {
    intake: 'read',
    looksAtKeyFirst: true,
    handler: (mounted, route) => answerForJob(mounted, route, true),
  },
  'job-list': { intake: 'read', looksAtKeyFirst: true, handler: answerJobList },
  'job-content': { intake: 'read', looksAtKeyFirst: true, handler: leadToFile },
  artifact: { intake: 'read', looksAtKeyFirst: true, handler: answerArtifact },
  local: {
    intake: 'work',
    handler: (mounted, route) =>
      takeIn(mounted, {
        serve: (incoming, reply) => answerLocally(mounted.surface.calls, route, incoming, reply),
        isCounted: false,
      }),
  },
  read: { intake: 'read', handler: answerRead },
  lookup: { intake: 'read', looksAtKeyFirst: true, handler: answerLookup },
  health: { intake: 'always', handler: answerHealth },
  metrics: { intake: 'always', handler: answerMetrics },
  redirect: {
    intake: 'read',
    handler:
      (_mounted, { to }) =>
      async (_request, reply) =>
        reply.redirect(to),
  },
}

/** Mounts rows. Every decision that needs no request is made here. */
export function mountRows(scope: FastifyInstance, surface: Surface, rows: readonly Row[]): void {
  scope.removeAllContentTypeParsers()
  // The framework reads no body. Each flow reads its own, up to the limit of its row.
  scope.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  const spool = createBodySpool(surface.maxHeldBodyBytes)
  for (const row of rows) mountRow(scope, { surface, row, spool }, row.serves)
}

type Mounting = { readonly surface: Surface; readonly row: Row; readonly spool: BodySpool }

function mountRow<K extends Kind>(
  scope: FastifyInstance,
  { surface, row, spool }: Mounting,
  serves: ServesOf<K>,
): void {
  const rules: KindRules<K> = KINDS[serves.kind]
  const { path, floorBehind } = row
  const onRequest = createGate(surface, { host: row.host, voice: row, intake: rules.intake })
  const errorHandler = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    // This refusal, like every other, tried no offer.
    if (rules.tellsCost) reply.headers(refusalHeaders(0, undefined))
    const error = fromFramework(thrown)
    logFault(surface, request, error)
    const isCharged = rules.looksAtKeyFirst !== true || !hasGoodKey(request, error)
    sendError({ request, reply }, row, isCharged ? chargeRefusal(surface, request, error) : error)
  }
  const { url: plain, readParams } = readPattern(path)
  const mount = (url: string, floor: Row['floorBehind']) => {
    const reading: ReadingRules = { clock: surface.clock, floorBehind: floor, readParams }
    const handler = rules.handler({ surface, row, spool, reading }, serves)
    scope.route<{ Params: Record<string, string> }>({
      method: row.methods.filter((method) => method !== 'HEAD'),
      exposeHeadRoute: row.methods.includes('HEAD'),
      url,
      onRequest,
      handler,
      errorHandler,
    })
  }
  mount(plain, undefined)
  if (floorBehind !== undefined) mount(`${floorBehind}/min:floor${plain.slice(floorBehind.length)}`, floorBehind)
}

const NO_PARAMS: Readonly<Record<string, string>> = {}

/** Translates a row's path for the router, and finds its parameters in the router's result. */
function readPattern(path: string): Pick<ReadingRules, 'readParams'> & { readonly url: string } {
  const names = [...path.matchAll(/([:*])(\w+)/g)].map(([, mark = '', name = '']) => ({
    name,
    key: mark === '*' ? '*' : name,
  }))
  if (names.length === 0) return { url: path, readParams: () => NO_PARAMS }
  return {
    url: path.replace(/\*\w+$/, '*'),
    readParams: (routed) => Object.fromEntries(names.map(({ name, key }) => [name, routed[key] ?? ''])),
  }
}
