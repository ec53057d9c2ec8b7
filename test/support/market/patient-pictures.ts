import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { z } from 'zod'
import { pngOf } from '#dev/provider/media/png.ts'
import { until } from '#test/support/run/until.ts'

/** Base64 without padding, so that the letters that the test adds to it belong to the picture, too. */
const PNG = pngOf('a cat', 16, 16).toString('base64').replace(/=+$/, '')

/** A provider of pictures that answers when a test says so. The prompt identifies a picture. */
export type PatientPictures = {
  readonly url: string
  /** Sends this number of bytes of a picture, once it is requested. */
  begin(prompt: string, bytes: number): Promise<void>
  finish(prompt: string): void
  /** Breaks the connection on which the picture is sent. */
  breakOff(prompt: string): void
  close(): void
}

const Asked = z.object({ prompt: z.string() })

export async function startPatientPictures(model: string, host: string): Promise<PatientPictures> {
  const asked = new Map<string, ServerResponse>()
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    response.setHeader('content-type', 'application/json')
    if (request.method === 'POST') {
      asked.set(Asked.parse(JSON.parse(Buffer.concat(chunks).toString())).prompt, response)
    } else {
      const data = [{ id: model, object: 'model', created: 1, owned_by: 'patient' }]
      response.end(JSON.stringify({ object: 'list', data }))
    }
  }
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()))
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  return {
    url: `http://${host}:${typeof address === 'object' && address !== null ? address.port : 0}/v1`,
    async begin(prompt, bytes) {
      await until(`the picture ${prompt} is requested`, 10_000, () => asked.has(prompt))
      asked.get(prompt)?.write(`{"created":1,"data":[{"b64_json":"${PNG}${'A'.repeat(bytes)}`)
    },
    finish: (prompt) => void asked.get(prompt)?.end('"}]}'),
    breakOff: (prompt) => void asked.get(prompt)?.destroy(),
    close: () => void server.close().closeAllConnections(),
  }
}
