import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher } from 'undici'
import { Client, Pool } from 'undici'

/** A request that learns which client carries it. */
export type Carried = {
  /** Set when a client of the pool takes the request. */
  carrier: PooledClient | undefined
}

/** Options of a dispatch whose client reports itself. */
export type CarriedDispatch = Dispatcher.DispatchOptions & { readonly carried?: Carried }

/** A client of a pool. It has one connection at a time, which its requests may look at. */
export class PooledClient extends Client {
  /** The present or the last connection. */
  socket: Socket | undefined

  constructor(origin: URL, options: object, connect: buildConnector.connector) {
    super(origin, {
      ...options,
      connect: (place, callback) => {
        connect(place, (...opened) => {
          this.socket = opened[1] ?? undefined
          callback(...opened)
        })
      },
    })
  }

  override dispatch(options: CarriedDispatch, handler: Dispatcher.DispatchHandler): boolean {
    if (options.carried !== undefined) options.carried.carrier = this
    return super.dispatch(options, handler)
  }
}

/** The connections to an origin. */
export function createPool(origin: string | URL, options: object, connect: buildConnector.connector): Pool {
  return new Pool(origin, {
    ...options,
    connect,
    factory: (place, limits) => new PooledClient(place, limits, connect),
  })
}
