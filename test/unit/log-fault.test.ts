import fastify from 'fastify'
import { expect, it } from 'vitest'
import { logFault } from '#data-plane/http/log-fault.ts'
import { AppError, toAppError } from '#shared/errors.ts'

it('a fault of ours is logged under the pattern of its path, and a refusal is not', async () => {
  const lines: unknown[] = []
  const log = { error: (line: object, text: string) => lines.push({ ...line, text }) }
  const app = fastify({ genReqId: () => 'rid' })
  app.get('/jobs/:id', () => Promise.reject(new RangeError('no path of a job')))
  app.get('/refused/:id', () => Promise.reject(new AppError('job_not_found')))
  app.setErrorHandler((thrown, request, reply) => {
    logFault({ calls: { log } }, request, toAppError(thrown))
    void reply.code(500).send()
  })
  for (const url of ['/jobs/secret', '/refused/secret']) await app.inject({ method: 'GET', url })
  expect(lines).toEqual([
    {
      rid: 'rid',
      method: 'GET',
      path: '/jobs/:id',
      cause: { name: 'RangeError', message: 'no path of a job' },
      text: 'a request failed on our side',
    },
  ])
})
