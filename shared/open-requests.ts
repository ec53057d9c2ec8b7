import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that may wait for their answers at once (pipelining, RFC 9112, section 9.3.2). */
export const MAX_OPEN_REQUESTS = 100

type Served = IncomingMessage
type Serve = (request: Served, response: ServerResponse) => void

/** The open responses of one connection, in the order of their requests. */
type Connection = { readonly open: Set<ServerResponse>; refused: number }

/**
 * Bounds the requests of each connection that wait for their answers, and ends every response with its connection.
 *
 * The first request over the bound is given to `refuse`, whose answer closes the connection once those before it are
 * sent. Later ones are ignored. A client that continues to send is cut.
 *
 * Node reports the end of its connection only to the response that is being sent. A queued response never closes by
 * itself, and a wait for its end would last for ever. Here it closes, too.
 */
export function watchOpenRequests(server: Server, refuse: (response: ServerResponse) => void): void {
  const connections = new WeakMap<Socket, Connection>()
  const listeners = server.listeners('request')
  server.removeAllListeners('request')
  const serve: Serve = (request, response) => {
    for (const listener of listeners) listener.call(server, request, response)
  }
  server.on('request', (request, response) => {
    const { socket } = request
    const connection = connections.get(socket) ?? watch(socket)
    const { open } = connection
    if (open.size < MAX_OPEN_REQUESTS && connection.refused === 0) {
      open.add(response)
      response.on('close', () => open.delete(response))
      serve(request, response)
      return
    }
    connection.refused++
    if (connection.refused === 1) refuse(response)
    else if (connection.refused > MAX_OPEN_REQUESTS) socket.destroy()
  })

  function watch(socket: Socket): Connection {
    const connection: Connection = { open: new Set(), refused: 0 }
    connections.set(socket, connection)
    socket.once('close', () => {
      for (const response of [...connection.open]) closeQueued(response)
    })
    return connection
  }
}

/** Closes a response that was never sent. Node closes the one that was being sent. */
function closeQueued(response: ServerResponse): void {
  if (response.socket !== null || response.closed) return
  response.destroy()
  response.emit('close')
}
