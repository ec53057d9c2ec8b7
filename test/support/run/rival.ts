import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Address } from '#dev/services/ports.ts'

/** A foreign program that listens on a port of the market. It sends nothing to its clients. */
export type Rival = Address & { close(): Promise<void> }

export async function startRival(host = '127.0.0.1', port = 0): Promise<Rival> {
  const callers = new Set<Socket>()
  const server = createServer((caller) => {
    callers.add(caller)
    caller.on('error', () => undefined)
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    host,
    port: portOf(server),
    async close() {
      server.close()
      for (const caller of callers) caller.destroy()
      await once(server, 'close')
    },
  }
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
