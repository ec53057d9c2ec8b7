import type { Reply } from '#dev/provider/reply.ts'
import type { AccountCall } from './account-call.ts'

const GOOD_KEY = /^Bearer (?!sk-bad)\S+$/i
const BY_NAME = /^\/social\/v2\/users\/by\/username\/([^/]+)$/
const USERNAME = /^\w{1,15}$/
const MIN_POSTS = 10
const MAX_POSTS = 100
/** The time of the newest post, in Unix milliseconds, and the pause between posts. */
const NEWEST_AT = 1_750_000_000_000
const PAUSE_MS = 60_000

/** A provider of social reads. Its posts and people are invented; the same request has the same answer. */
export function serveSocial({ method, path, query, headers }: AccountCall, reply: Reply): void {
  const [, name] = BY_NAME.exec(path) ?? []
  if (!GOOD_KEY.test(headers.authorization ?? '')) reply.json(401, problem('Unauthorized', 401))
  else if (method !== 'GET') reply.json(405, problem('Method Not Allowed', 405))
  else if (path === '/social/v2/users/me') reply.json(200, { data: userOf('market') })
  else if (path === '/social/v2/posts/search/recent') search(query, reply)
  else if (name === undefined) reply.json(404, problem('Not Found', 404))
  else if (!USERNAME.test(name)) reply.json(400, problem('Invalid Request', 400))
  else reply.json(200, { data: userOf(name) })
}

function search(query: URLSearchParams, reply: Reply): void {
  const words = query.get('query') ?? ''
  const count = Number(query.get('max_results') ?? MIN_POSTS)
  if (words === '' || !Number.isInteger(count) || count < MIN_POSTS || count > MAX_POSTS) {
    reply.json(400, problem('Invalid Request', 400))
    return
  }
  const data = Array.from({ length: count }, (_, index) => ({
    id: String(1_900_000_000_000_000_000n - BigInt(index)),
    text: `Post ${index + 1} about ${words}`,
    author_id: String(1_000 + index),
    created_at: new Date(NEWEST_AT - index * PAUSE_MS).toISOString(),
  }))
  const meta = { result_count: count, newest_id: data[0]?.id, oldest_id: data.at(-1)?.id }
  reply.json(200, { data, meta })
}

function userOf(username: string) {
  const id = [...username].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) % 1_000_000_007
  return { id: String(id), name: username.replaceAll('_', ' '), username }
}

function problem(title: string, status: number) {
  return { title, status, type: 'about:blank' }
}
