import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import type { RefusalBody } from '#shared/broken-requests.ts'
import { writeRefusal } from '#shared/broken-requests.ts'
import type { ConnectionRefusals } from '#shared/connections.ts'
import type { AppError } from '#shared/errors.ts'
import type { Ids } from '#shared/ids.ts'
import { overloaded } from './admission.ts'

/** The refusals of requests that reach no route, in our envelope. */
export function connectionRefusals(ids: Ids): ConnectionRefusals {
  return { writeBody: refusalBody(ids), pipelined: refusePipelined(ids) }
}

function refusalBody(ids: Ids): (error: AppError) => RefusalBody {
  return (error) => {
    const id = ids.requestId()
    return { id, body: openAiEnvelope(error, id).body }
  }
}

/** Refuses a request whose body is too slow and closes the connection. Later bytes are dropped. */
export function refuseSlowBody(ids: Ids, socket: Socket): void {
  const text = writeRefusal([408, 'Request Timeout', 'The body came too slowly.'], refusalBody(ids))
  socket.end(text, () => socket.destroy())
}

/** Refuses a request that waits behind too many others of its connection. The connection closes with the answer. */
export function refusePipelined(ids: Ids): (response: ServerResponse) => void {
  return (response) => {
    const id = ids.requestId()
    const { status, headers, body } = openAiEnvelope(overloaded('connection'), id)
    response.writeHead(status, { ...headers, 'x-request-id': id, connection: 'close' })
    response.end(body)
  }
}
