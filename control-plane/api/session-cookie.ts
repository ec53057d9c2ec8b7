import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { isWellFormedToken, newSignInSecret } from '#control-plane/services/sign-in/session-token.ts'
import { AppError } from '#shared/errors.ts'

/** Browsers forget the cookie after this many seconds. The session itself may end earlier. */
const MAX_AGE_SECONDS = 7 * 24 * 60 * 60
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const LOOPBACK_HTTP = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/

/** A challenge lasts five minutes. Each one renews the cookie. */
const BROWSER_SECONDS = 15 * 60

type CookieCtx = Pick<Ctx, 'settings'>
type Cookie = { readonly name: string; readonly attributes: string }

/** The `__Host-` prefix binds a cookie to https and to this host. Only http on loopback omits it. */
function cookieOf({ settings }: CookieCtx, named: string, sameSite: 'Lax' | 'Strict'): Cookie {
  const isLoopback = settings.origins.every((origin) => LOOPBACK_HTTP.test(origin))
  const attributes = `Path=/; HttpOnly; SameSite=${sameSite}`
  return isLoopback ? { name: named, attributes } : { name: `__Host-${named}`, attributes: `${attributes}; Secure` }
}

const sessionCookie = (ctx: CookieCtx) => cookieOf(ctx, 'mkt_session', 'Lax')
const browserCookie = (ctx: CookieCtx) => cookieOf(ctx, 'mkt_browser', 'Strict')

/** The token in a request's session cookie. Throws `invalid_session` for a request with two session cookies. */
export function readSessionCookie(ctx: CookieCtx, request: FastifyRequest): string | undefined {
  return readCookie(request, sessionCookie(ctx))
}

/** The secret that identifies this browser. A request without one gets a new secret. */
export function browserOf(ctx: CookieCtx, request: FastifyRequest, reply: FastifyReply): string {
  const cookie = browserCookie(ctx)
  const cookieText = readCookie(request, cookie)
  const secret = cookieText !== undefined && isWellFormedToken(cookieText) ? cookieText : newSignInSecret().reveal()
  reply.header('set-cookie', `${cookie.name}=${secret}; ${cookie.attributes}; Max-Age=${BROWSER_SECONDS}`)
  return secret
}

function readCookie(request: FastifyRequest, { name }: Cookie): string | undefined {
  const values = (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  if (values.length > 1) throw new AppError('invalid_session')
  return values[0]
}

/** Sets a browser's session cookie. Null deletes it. */
export function sendSessionCookie(ctx: CookieCtx, reply: FastifyReply, token: string | null): void {
  const { name, attributes } = sessionCookie(ctx)
  const maxAge = token === null ? 0 : MAX_AGE_SECONDS
  reply.header('set-cookie', `${name}=${token ?? ''}; ${attributes}; Max-Age=${maxAge}`)
}

/**
 * Requires that a page of our own sent a request which changes something, because browsers send our cookie with
 * requests of other sites, too. `Sec-Fetch-Site`, which no script can set, says whether the page is of this very
 * origin. Older browsers only name the page in `Origin`. Throws `forbidden`.
 */
export function requireOwnOrigin({ settings }: CookieCtx, request: FastifyRequest): void {
  if (SAFE_METHODS.has(request.method)) return
  const { origin, 'sec-fetch-site': site } = request.headers
  if (site === 'same-origin') return
  if (origin !== undefined && settings.origins.includes(origin)) return
  throw new AppError('forbidden', { message: 'A session changes things only from pages of this service (Origin).' })
}
