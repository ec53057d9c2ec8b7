import type { Server, ServerResponse } from 'node:http'
import type { RefusalBody } from './broken-requests.ts'
import { createBrokenRequests } from './broken-requests.ts'
import type { Time } from './clock.ts'
import type { AppError } from './errors.ts'
import { CONNECTION_LIMITS, KEEP_ALIVE_MS } from './http-head.ts'
import { keepIdleLonger } from './idle-connections.ts'
import { watchOpenRequests } from './open-requests.ts'

/** The refusals of requests that reach no route. */
export type ConnectionRefusals = {
  /** Writes the body of a refusal that has no response object. */
  writeBody(error: AppError): RefusalBody
  /** Refuses a request that waits behind too many others of its connection. The answer closes the connection. */
  pipelined(response: ServerResponse): void
}

/** The part of a framework's server that the rules need. */
type App = { readonly server: Server; addHook(name: 'preClose', hook: () => Promise<void>): unknown }

/** The rules for the connections of a server. */
export type Connections = {
  /** Options under the framework's own names. */
  readonly options: {
    readonly http: typeof CONNECTION_LIMITS
    readonly keepAliveTimeout: number
    readonly forceCloseConnections: 'idle'
    readonly clientErrorHandler: ReturnType<typeof createBrokenRequests>['refuse']
  }
  /** Applies the other rules to the server that was made with the options. */
  attach(app: App): void
}

/**
 * Bounds heads and open requests, closes unused connections in silence, and idle ones later than announced. Every
 * server of the market applies these rules.
 */
export function createConnections(refusals: ConnectionRefusals, clock: Pick<Time, 'after'>): Connections {
  const broken = createBrokenRequests((error) => refusals.writeBody(error), clock)
  return {
    options: {
      http: CONNECTION_LIMITS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      forceCloseConnections: 'idle',
      clientErrorHandler: broken.refuse,
    },
    attach(app) {
      app.addHook('preClose', async () => broken.close())
      watchOpenRequests(app.server, (response) => refusals.pipelined(response))
      keepIdleLonger(app.server)
    },
  }
}
