import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Origins } from '#control-plane/api/reference/documents.ts'
import { themeOf } from '#control-plane/api/theme.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { isPagePath } from '#shared/contract/page-paths.ts'
import type { PageDocument, PageFiles } from './files.ts'
import { openPageFiles } from './files.ts'
import { readForetold } from './foretold.ts'

/** All content comes from our origin, and no user's text can become a script. */
const CONTENT_SECURITY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const SECURITY_HEADERS = {
  'content-security-policy': CONTENT_SECURITY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

/** The name of an asset contains a hash of its content. */
const FOR_GOOD = 'public, max-age=31536000, immutable'

/** The web page, if it was built. */
export type WebPage = {
  /** Answers a browser's request for a path without a route. False leaves the request to the API's refusals. */
  answer(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
}

/** Mounts the page's files. A build without the page leads to the texts instead. */
export function mountPage(server: FastifyInstance, ctx: Ctx, folder: URL, origins: Origins): WebPage {
  const files = openPageFiles(folder, origins)
  if (files === undefined) {
    for (const path of ['/', '/docs']) server.get(path, async (_request, reply) => reply.redirect('/docs/README.md'))
    return { answer: () => Promise.resolve(false) }
  }
  server.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const asset = files.asset(request.params.name)
    if (asset === undefined) return reply.callNotFound()
    reply.headers({ ...SECURITY_HEADERS, 'cache-control': FOR_GOOD }).type(asset.contentType)
    return sendEncoded(request, reply, await asset.body())
  })
  server.get('/', async (request, reply) => sendPage({ ctx, files }, { request, reply, status: 200 }))
  return {
    async answer(request, reply) {
      const path = request.url.split('?', 1)[0] ?? '/'
      if (request.method !== 'GET') return false
      const doc = files.documentation(path, themeOf(request))
      if (doc !== undefined) {
        await sendDocument(doc, { request, reply, status: 200 })
        return true
      }
      if (!request.headers.accept?.includes('text/html')) return false
      const isKnown = isPagePath(path) && !path.startsWith('/docs')
      await sendPage({ ctx, files }, { request, reply, status: isKnown ? 200 : 404 })
      return true
    },
  }
}

type PageExchange = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly status: number }

type PageParts = { readonly ctx: Ctx; readonly files: PageFiles }

/** The one document. It names the assets of this release, so a browser asks for it each time. */
async function sendPage({ ctx, files }: PageParts, exchange: PageExchange): Promise<FastifyReply> {
  const { request } = exchange
  const path = request.url.split('?', 1)[0] ?? '/'
  return sendDocument(files.document(path, themeOf(request), await readForetold(ctx, request, path)), exchange)
}

async function sendDocument(document: PageDocument, { request, reply, status }: PageExchange): Promise<FastifyReply> {
  reply
    .status(status)
    .headers({ ...SECURITY_HEADERS, 'cache-control': 'no-cache', etag: document.etag, vary: 'Cookie' })
  if (status === 200 && request.headers['if-none-match']?.replace(/^W\//, '') === document.etag) {
    return reply.status(304).send()
  }
  return sendEncoded(request, reply.type('text/html; charset=utf-8'), await document.body())
}

/** Sends the smallest encoding that the browser accepts. */
function sendEncoded(
  request: FastifyRequest,
  reply: FastifyReply,
  body: { readonly plain: Buffer; readonly gzip: Buffer; readonly br: Buffer },
): FastifyReply {
  const accepted = (request.headers['accept-encoding'] ?? '').toString()
  reply.header('vary', 'Accept-Encoding, Cookie')
  if (/\bbr\b/.test(accepted)) return reply.header('content-encoding', 'br').send(body.br)
  if (/\bgzip\b/.test(accepted)) return reply.header('content-encoding', 'gzip').send(body.gzip)
  return reply.send(body.plain)
}
