import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DocumentFolders, Origins, Served } from './documents.ts'
import { readDocuments } from './documents.ts'

/** A file is data: nothing in it runs, and no site may frame it. */
const CONTENT_SECURITY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const MAX_AGE_SECONDS = 300

/** Mounts the description of the doors, the note for agents, the texts, and the data of the pages of `/docs`. */
export function mountReference(server: FastifyInstance, folders: DocumentFolders, origins: Origins): void {
  const fileAt = readDocuments(folders, origins)
  for (const path of ['/openapi.json', '/llms.txt', '/docs/*']) {
    server.get(path, async (request, reply) => {
      const file = fileAt(request.url.split('?', 1)[0] ?? '')
      // Other paths below `/docs` are screens of the page.
      return file === undefined ? reply.callNotFound() : sendFile(request, reply, file)
    })
  }
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { contentType, text, etag }: Served): FastifyReply {
  reply.headers({
    etag,
    'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
    'access-control-allow-origin': '*',
    'content-security-policy': CONTENT_SECURITY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  const knownTags = (request.headers['if-none-match'] ?? '').split(',').map((name) => name.trim().replace(/^W\//, ''))
  if (knownTags.includes(etag) || knownTags.includes('*')) return reply.status(304).send()
  return reply.type(contentType).send(text)
}
