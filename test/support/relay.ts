import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** A wire between a client and a server that can be made to fail in the nasty ways. */
export type Relay = {
  readonly url: string
  /** From now on the server's answers are thrown away; what is sent still arrives. */
  dropAnswers(isDropping: boolean): void
  /** Cuts every connection. */
  cut(): void
  close(): Promise<void>
}

/** A relay on a loopback port to the host and port of a URL. */
export async function startRelay(target: string): Promise<Relay> {
  const { hostname, port, protocol } = new URL(target)
  const sockets = new Set<Socket>()
  let isDropping = false
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes) => upstream.write(bytes))
    upstream.on('data', (bytes) => {
      if (!isDropping) client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `${protocol}//127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    dropAnswers(dropping) {
      isDropping = dropping
    },
    cut,
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
