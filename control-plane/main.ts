import { hostname } from 'node:os'
import { SECOND } from '#shared/clock.ts'
import { armCrash } from '#shared/crash-point.ts'
import { exitCodeOf } from '#shared/exit-codes.ts'
import { openTracer } from '#shared/telemetry/open-tracer.ts'
import { readConfig } from './config.ts'
import { createHealthServer } from './health-server.ts'
import type { ControlPlane } from './plane.ts'
import { createControlPlane } from './plane.ts'
import { keepMarketWarm } from './services/market/market-warmth.ts'

/** Longest time in which a stopping process may finish its work. */
const STOP_LIMIT_MS = 20 * SECOND
const CONNECT_WAIT_MS = 5 * SECOND

const ROLES = { server: runServer, worker: runWorker } as const

/** Ends one part of the process. */
type Stop = () => Promise<void>

async function runServer(plane: ControlPlane): Promise<Stop> {
  // Workers never load the doors and the schema of GraphQL.
  const { createServer } = await import('./server.ts')
  const server = await createServer(plane)
  const stopWarming = await keepMarketWarm(plane)
  await server.listen({ host: plane.config.host, port: plane.config.port })
  plane.log.info({ addresses: server.addresses() }, 'the control plane listens')
  return async () => {
    plane.drain()
    stopWarming()
    await server.close()
  }
}

async function runWorker(plane: ControlPlane): Promise<Stop> {
  const health = createHealthServer(plane)
  await health.listen({ host: plane.config.host, port: plane.config.port })
  const stopWorkers = plane.startWorkers()
  plane.log.info({ addresses: health.addresses() }, 'the workers work')
  return async () => {
    plane.drain()
    await stopWorkers()
    await health.close()
  }
}

async function main(role: string | undefined): Promise<void> {
  if (role !== 'server' && role !== 'worker')
    throw new Error(`the role must be one of: ${Object.keys(ROLES).join(', ')}`)
  const config = readConfig()
  armCrash(config.crashAt)
  const instance = `${hostname()}-${process.pid}`
  const plane = createControlPlane(config, { tracer: await openTracer(config.telemetry, { instance }) })
  await plane.connected(CONNECT_WAIT_MS)
  await plane.clocks.check()
  plane.clocks.requireTrusted()
  plane.clocks.start()
  const stop = await ROLES[role](plane)
  let isStopping = false
  const end = async (signal: string) => {
    if (isStopping) return
    isStopping = true
    plane.log.info({ signal }, 'ending')
    const limit = setTimeout(() => {
      plane.log.error('the process did not end in time')
      process.exit(1)
    }, STOP_LIMIT_MS)
    await stop()
    await plane.close()
    clearTimeout(limit)
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      end(signal).catch((error: unknown) => {
        plane.log.error({ err: error }, 'the process did not end cleanly')
        process.exit(1)
      })
    })
  }
  process.on('unhandledRejection', (error) => {
    plane.log.fatal({ err: error }, 'a rejection was not handled')
    process.exit(1)
  })
}

main(process.argv[2]).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : 'the control plane did not start'}\n`)
  process.exit(exitCodeOf(error))
})
