import { z } from 'zod'
import { serveVideos } from '#dev/provider/jobs.ts'
import type { Reply } from '#dev/provider/reply.ts'
import type { AccountCall } from './account-call.ts'
import { pictureUrl } from './account-call.ts'

const BASE = '/p1'
const MODELS = ['canvas-1', 'canvas-1-mini', 'reel-1'] as const
const UPLOAD = /^\/v1\/uploads\/[\w.-]+$/
const SIDE = 1_024

const Picture = z.looseObject({
  model: z.enum(['canvas-1', 'canvas-1-mini']),
  prompt: z.string().min(1),
  n: z.number().int().min(1).max(10).default(1),
})
const Seconds = z.looseObject({
  model: z.literal('reel-1'),
  seconds: z.union([z.string(), z.number()]).transform(String),
})

/** Provider P1: synchronous images, video jobs and uploads, all below one path. */
export function serveProviderP1(call: AccountCall, reply: Reply): void {
  const { method, headers, bytes, jobs } = call
  const path = call.path.slice(BASE.length)
  const key = headers['x-key']
  if (typeof key !== 'string' || key.startsWith('sk-bad')) reply.json(401, problem('invalid x-key'))
  else if (method === 'GET' && path === '/v1/me') reply.json(200, { plan: 'tier2' })
  else if (method === 'GET' && path === '/v1/models') reply.json(200, { data: MODELS.map((id) => ({ id })) })
  else if (method === 'POST' && path === '/v1/images') draw(call, reply)
  else if (method === 'PUT' && UPLOAD.test(path)) reply.json(201, { name: path.split('/').at(-1), bytes: bytes.length })
  else {
    // Seconds may be a number or a string.
    const order = Seconds.safeParse(call.body)
    const body = order.success ? order.data : method === 'POST' ? undefined : call.body
    if (!serveVideos(jobs, { method, path, body }, reply)) reply.json(404, problem('no such path'))
  }
}

function draw({ body, origin }: AccountCall, reply: Reply): void {
  const request = Picture.safeParse(body)
  if (!request.success) {
    reply.json(422, problem('the body is no request for pictures'))
    return
  }
  const { prompt, n } = request.data
  const size = { width: SIDE, height: SIDE }
  const data = Array.from({ length: n }, (_, index) => ({ url: pictureUrl(origin, `${prompt} ${index}`, size) }))
  reply.json(200, { data })
}

function problem(message: string) {
  return { error: { message } }
}
