import type { FastifyInstance } from 'fastify'
import type { Origins } from './document.ts'
import { readDocuments } from './documents.ts'

/** The page loads only what this origin serves, and nobody may frame it. */
const CONTENT_SECURITY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  // The page's console calls this origin and no other.
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
const MAX_AGE_SECONDS = 300

/** Mounts the description of the doors, its page, the note for agents, and the texts of the folder. */
export function mountReference(server: FastifyInstance, folder: URL, origins: Origins): void {
  for (const [path, { contentType, text, etag }] of readDocuments(folder, origins)) {
    server.get(path, async (request, reply) => {
      reply.headers({
        etag,
        'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
        'access-control-allow-origin': '*',
        'content-security-policy': CONTENT_SECURITY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      const known = (request.headers['if-none-match'] ?? '').split(',').map((name) => name.trim().replace(/^W\//, ''))
      if (known.includes(etag) || known.includes('*')) return reply.status(304).send()
      return reply.type(contentType).send(text)
    })
  }
}
