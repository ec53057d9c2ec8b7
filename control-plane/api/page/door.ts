import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Origins } from '#control-plane/api/reference/documents.ts'
import { themeOf } from '#control-plane/api/theme.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { isPagePath } from '#shared/contract/page-paths.ts'
import { readEmbeddedData } from './embedded-data.ts'
import type { PageDocument, PageFiles } from './files.ts'
import { openPageFiles } from './files.ts'

/**
 * Everything comes from our origin, and no user's text becomes a script. Calls of the playground go to the API, whose
 * address may be another. Sound that an answer holds is played from the page's own memory.
 */
function contentSecurity(api: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src 'self'${api}`,
    `img-src 'self' data:${api}`,
    `media-src 'self' blob:${api}`,
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

/** The API's address as a further source, where it is not that of the page. */
function apiSource({ settings: { apiBaseUrl, baseUrl } }: Ctx): string {
  const { origin } = new URL(apiBaseUrl)
  return origin === baseUrl ? '' : ` ${origin}`
}

const securityHeaders = (ctx: Ctx) => ({
  'content-security-policy': contentSecurity(apiSource(ctx)),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
})

/** The name of an asset contains a hash of its content. */
const FOR_GOOD = 'public, max-age=31536000, immutable'

/** The web page, if it was built. */
export type WebPage = {
  /** Responds to a browser's request for a path without a route. False leaves the request to the API's refusals. */
  answer(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
}

/** Mounts the page's files. A build without the page redirects to the docs instead. */
export function mountPage(server: FastifyInstance, ctx: Ctx, folder: URL, origins: Origins): WebPage {
  const files = openPageFiles(folder, origins)
  if (files === undefined) {
    for (const path of ['/', '/docs']) server.get(path, async (_request, reply) => reply.redirect('/docs/README.md'))
    return { answer: () => Promise.resolve(false) }
  }
  const security = securityHeaders(ctx)
  server.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const asset = files.asset(request.params.name)
    if (asset === undefined) return reply.callNotFound()
    reply.headers({ ...security, 'cache-control': FOR_GOOD }).type(asset.contentType)
    return sendEncoded(request, reply, await asset.body())
  })
  server.get('/', async (request, reply) => sendPage(files, ctx, { security, request, reply, status: 200 }))
  return {
    async answer(request, reply) {
      const path = request.url.split('?', 1)[0] ?? '/'
      if (request.method !== 'GET') return false
      const doc = files.documentation(path, themeOf(request))
      if (doc !== undefined) {
        await sendDocument(doc, { security, request, reply, status: 200 })
        return true
      }
      if (!request.headers.accept?.includes('text/html')) return false
      const isKnown = isPagePath(path) && !path.startsWith('/docs')
      await sendPage(files, ctx, { security, request, reply, status: isKnown ? 200 : 404 })
      return true
    },
  }
}

type PageExchange = {
  readonly security: ReturnType<typeof securityHeaders>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly status: number
}

/** The one document. It names the assets of this release, so a browser asks for it each time. */
async function sendPage(files: PageFiles, ctx: Ctx, exchange: PageExchange): Promise<FastifyReply> {
  const { request } = exchange
  const path = request.url.split('?', 1)[0] ?? '/'
  return sendDocument(files.document(path, themeOf(request), await readEmbeddedData(ctx, request, path)), exchange)
}

async function sendDocument(document: PageDocument, exchange: PageExchange): Promise<FastifyReply> {
  const { security, request, reply, status } = exchange
  reply.status(status).headers({ ...security, 'cache-control': 'no-cache', etag: document.etag, vary: 'Cookie' })
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
