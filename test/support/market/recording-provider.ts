import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { BUSY_MS } from '#test/support/run/until.ts'

/** A request as a provider received it. */
export type Heard = {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly bytes: number
  /** The beginning of the body. */
  readonly text: string
  /** False when the body broke off. */
  readonly isWhole: boolean
}

export type Answers = (request: IncomingMessage, response: ServerResponse, heard: Heard) => void

const MAX_KEPT_BYTES = 65_536

/** A provider that records its requests, and answers as the test says. */
export async function startRecordingProvider(host: string) {
  const heard: Heard[] = []
  let answer: Answers = (_request, response) => response.writeHead(500).end()
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const kept: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      if (bytes < MAX_KEPT_BYTES) kept.push(chunk)
      bytes += chunk.length
    })
    request.on('close', () => {
      const { method = '', url = '', rawHeaders, complete: isWhole } = request
      const one = { method, url, rawHeaders, bytes, text: Buffer.concat(kept).toString('utf8'), isWhole }
      heard.push(one)
      if (isWhole) answer(request, response, one)
    })
    request.on('error', () => undefined)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    origin: `http://${host}:${port}`,
    heard,
    /** Forgets its requests, and gives these answers from now on. */
    answers(next: Answers) {
      heard.length = 0
      answer = next
    },
    /** Resolves when the head of the next request has arrived. */
    begins: () => once(server, 'request', { signal: AbortSignal.timeout(BUSY_MS) }),
    close: () => server.close().closeAllConnections(),
  }
}
export type RecordingProvider = Awaited<ReturnType<typeof startRecordingProvider>>
