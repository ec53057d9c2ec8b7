import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A port of the loopback interface that nobody listens on at this moment. */
export async function findFreePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** True when the port can be listened on. */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer()
  const outcome = new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
  return outcome
}

/** Sends a text to a port and gives what came first in answer; undefined when there was none in time. */
export async function askPort(port: number, text: string, limitMs = 1_000): Promise<string | undefined> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    return await new Promise<string | undefined>((resolve) => {
      socket.setTimeout(limitMs, () => resolve(undefined))
      socket.once('error', () => resolve(undefined))
      socket.once('close', () => resolve(undefined))
      socket.once('data', (bytes) => resolve(bytes.toString('latin1')))
      socket.write(text)
    })
  } finally {
    socket.destroy()
  }
}

export type Patience = { readonly limitMs: number; readonly everyMs: number }

/** Asks again and again until the answer is true; false when the limit has passed or `isOver` says to give up. */
export async function waitUntil(
  isTrue: () => Promise<boolean>,
  patience: Patience,
  isOver: () => boolean = () => false,
): Promise<boolean> {
  const deadline = performance.now() + patience.limitMs
  while (performance.now() < deadline && !isOver()) {
    if (await isTrue()) return true
    await delay(patience.everyMs)
  }
  return false
}
