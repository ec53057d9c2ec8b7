import type { FastifyInstance } from 'fastify'
import { themeOf } from '#control-plane/api/theme.ts'
import type { Origins } from './document.ts'
import { readDocuments } from './documents.ts'

/** The page loads only files of this origin, and no site may frame it. */
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
  for (const [path, file] of readDocuments(folder, origins)) {
    server.get(path, async (request, reply) => {
      const theme = themeOf(request)
      const { contentType, text, etag } = file.inTheme(theme)
      reply.headers({
        etag,
        // A shared cache keeps the page of readers without a theme, and no page with one.
        'cache-control': `${file.isThemed && theme !== undefined ? 'private' : 'public'}, max-age=${MAX_AGE_SECONDS}`,
        ...(file.isThemed ? { vary: 'Cookie' } : {}),
        'access-control-allow-origin': '*',
        'content-security-policy': CONTENT_SECURITY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      const knownTags = (request.headers['if-none-match'] ?? '')
        .split(',')
        .map((name) => name.trim().replace(/^W\//, ''))
      if (knownTags.includes(etag) || knownTags.includes('*')) return reply.status(304).send()
      return reply.type(contentType).send(text)
    })
  }
}
