import type { Reply } from '#dev/provider/reply.ts'
import type { AccountCall } from './account-call.ts'

const GOOD_KEY = /^Bearer (?!sk-bad)\S+$/i
const TIMEOUT_MS = 10_000

/** A provider of chain reads. The development chain plays every network. */
export async function serveChain({ method, path, headers, bytes, chainUrl }: AccountCall, reply: Reply): Promise<void> {
  if (!GOOD_KEY.test(headers.authorization ?? '')) return reply.json(401, { error: 'Must be authenticated!' })
  if (method === 'GET' && path === '/chain/account') return reply.json(200, { plan: 'growth' })
  if (method !== 'POST' || !/^\/chain\/rpc\/[\w-]+$/.test(path)) return reply.json(404, { error: 'Not found' })
  if (chainUrl === undefined) return reply.json(503, { error: 'No node is connected.' })
  try {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: new Uint8Array(bytes) }
    const answer = await fetch(chainUrl, { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) })
    const replyBytes = Buffer.from(await answer.arrayBuffer())
    reply.headers(answer.status, { 'content-type': 'application/json', 'content-length': String(replyBytes.length) })
    reply.end(replyBytes)
  } catch {
    reply.json(502, { error: 'The node did not answer.' })
  }
}
