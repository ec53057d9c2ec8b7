/**
 * The yardstick: it accepts a body with Fastify and sends it on with undici, both ways, and does nothing else. Run it
 * as a process with `--upstream http://127.0.0.1:9000`. It prints its port as `{"port":…}`.
 */
import { parseArgs } from 'node:util'
import fastify from 'fastify'
import { Pool } from 'undici'

const { values } = parseArgs({ options: { upstream: { type: 'string' } } })
const pool = new Pool(values.upstream ?? '', { connections: 256, pipelining: 1 })
const app = fastify({ logger: false })

app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.post('/v1/chat/completions', async (request, reply) => {
  const answer = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: Buffer.isBuffer(request.body) ? request.body : '',
  })
  const type = answer.headers['content-type']
  reply.status(answer.statusCode).header('content-type', typeof type === 'string' ? type : 'application/json')
  if (type === 'text/event-stream') return reply.send(answer.body)
  return reply.send(Buffer.from(await answer.body.arrayBuffer()))
})

const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ port: Number(new URL(url).port) })}\n`)
