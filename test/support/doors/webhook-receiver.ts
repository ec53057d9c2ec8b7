import { createServer } from 'node:http'

export type ReceivedWebhook = { readonly headers: Record<string, unknown>; readonly body: string }

/** A server of a buyer that receives webhooks. */
export type WebhookReceiver = {
  readonly url: string
  readonly received: ReceivedWebhook[]
  /** The statuses of the next answers, then 204. A 302 redirects elsewhere. */
  readonly statuses: number[]
  /** Runs while a sender waits for the answer. */
  meanwhile: () => Promise<void>
  /** Forgets all requests so far. */
  forget(): void
  close(): void
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      receiver.received.push({ headers: request.headers, body })
      const status = receiver.statuses.shift() ?? 204
      const headers = status === 302 ? { location: `${receiver.url}/elsewhere` } : {}
      const answer = () => response.writeHead(status, headers).end()
      void receiver.meanwhile().then(answer, answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/hook`,
    received: [],
    statuses: [],
    meanwhile: async () => undefined,
    forget() {
      receiver.received.length = 0
      receiver.statuses.length = 0
      receiver.meanwhile = async () => undefined
    },
    close() {
      server.close()
    },
  }
  return receiver
}
