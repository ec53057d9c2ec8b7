import type { Server } from 'node:net'

/** Listens on a free port and prints it as `{"port":…}` for the process that started this script. */
export function listenAndSay(server: Server, host: string): void {
  server.listen(0, host, () => {
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    process.stdout.write(`${JSON.stringify({ port })}\n`)
  })
}
