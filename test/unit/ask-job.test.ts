import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createProviderProbe } from '#control-plane/ports/provider/provider-probe.ts'
import { systemClock } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'

describe("the reading of a job's status", () => {
  const answers: Record<string, (response: ServerResponse) => void> = {
    running: (response) => response.end('{"id":"a","status":"in_progress"}'),
    html: (response) => response.setHeader('content-type', 'text/html').end('<html>busy</html>'),
    empty: (response) => response.end(),
    strange: (response) => response.end('{"id":"a","status":"sleeping"}'),
    limited: (response) => response.writeHead(429, { 'retry-after': '70' }).end('{"error":{"message":"slow down"}}'),
    'limited-for-ever': (response) => response.writeHead(429, { 'retry-after': '99999999' }).end(),
    broken: (response) => response.writeHead(500).end('{"id":"a","status":"completed"}'),
    refused: (response) => response.writeHead(401).end(),
    moved: (response) => response.writeHead(302, { location: 'https://elsewhere.example/' }).end(),
    vanished: (response) => response.writeHead(404).end('<html>not here</html>'),
    gone: (response) => response.writeHead(410).end(),
    cut: (response) => response.writeHead(200, { 'content-length': '900' }).write('{"id":', () => response.destroy()),
    endless: (response) => response.end(' '.repeat(300_000)),
    slow: () => undefined,
  }
  const silent = (status: number | null, retryAfterMs?: number) => ({ kind: 'silent', status, retryAfterMs })

  const noTokens = async () => ({ isMade: false, status: null, reason: 'none' }) as const

  it('never throws for any answer, and returns a state only for an answer that it can read', async () => {
    const server = createServer((request, response) => answers[request.url?.split('/').at(-1) ?? '']?.(response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const probe = createProviderProbe({ allowsLoopback: true }, systemClock, noTokens, 1_000)
    const place = {
      baseUrl: new URL(`http://127.0.0.1:${port}/v1`),
      apiFormat: 'openai',
      apiKey: new Secret('sk-a'),
    } as const
    const heard: Record<string, unknown> = {}
    for (const name of Object.keys(answers)) {
      heard[name] = await probe.askJob({ kind: 'video', providerJob: name, place })
    }
    server.closeAllConnections()
    server.close()
    await probe.close()
    expect(heard).toEqual({
      running: expect.objectContaining({ kind: 'reported', job: expect.objectContaining({ state: 'running' }) }),
      html: silent(200),
      empty: silent(200),
      strange: silent(200),
      broken: silent(500),
      refused: silent(401),
      moved: silent(302),
      limited: silent(429, 70_000),
      'limited-for-ever': silent(429, 3_600_000),
      vanished: { kind: 'unknown' },
      gone: { kind: 'unknown' },
      cut: silent(null),
      endless: silent(null),
      slow: silent(null),
    })
  })
})
