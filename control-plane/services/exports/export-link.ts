import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'

/** Where links lead, on every plane. */
export const EXPORT_PATH = '/v1/exports'
/** How long a link opens. */
export const EXPORT_LIFETIME_MS = 5 * MINUTE
const MAX_TOKEN_CHARS = 1_800

/** What a link opens: the kind of export, and the query of whoever asked for it, tenant included. */
export type ExportGrant = { readonly kind: string; readonly query: unknown }

const Payload = z.object({ k: z.string(), q: z.unknown(), e: z.number().int() })

/** Where a file can be had without a key, and until when in Unix milliseconds. */
export const ExportLinkSchema = z.object({
  url: z.string(),
  expiresAt: UnixMs,
})
export type ExportLink = z.infer<typeof ExportLinkSchema>

/**
 * A path that anybody may open for the next five minutes, without a key: it says what is exported and for whom, and is
 * signed, so that nothing in it can be changed. The query is plain JSON without secrets.
 */
export function makeExportLink(ctx: Pick<Ctx, 'settings' | 'clock'>, grant: ExportGrant): ExportLink {
  const expiresAt = ctx.clock.now() + EXPORT_LIFETIME_MS
  const payload = { k: grant.kind, q: grant.query, e: expiresAt }
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url')
  return { url: `${EXPORT_PATH}/${body}.${sign(ctx, body).toString('base64url')}`, expiresAt }
}

/** What the token of a link opens. Throws `not_found` for one that was not made here, or whose time is over. */
export function openExportLink(ctx: Pick<Ctx, 'settings' | 'clock'>, token: string): ExportGrant {
  const [body = '', mac = '', ...rest] = token.split('.')
  const given = Buffer.from(mac, 'base64url')
  const right = sign(ctx, body)
  const isSigned = rest.length === 0 && given.length === right.length && timingSafeEqual(given, right)
  // More than one text decodes to the same bytes: only the one that was given out is taken.
  if (!isSigned || right.toString('base64url') !== mac || token.length > MAX_TOKEN_CHARS) throw notHere()
  const { k: kind, q: query, e: endsAt } = Payload.parse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')))
  if (ctx.clock.now() >= endsAt) throw notHere()
  return { kind, query }
}

function notHere(): AppError {
  return new AppError('not_found', { message: 'There is no such export, or its link has expired.' })
}

function sign({ settings }: Pick<Ctx, 'settings'>, body: string): Buffer {
  return createHmac('sha256', settings.linkSecret.reveal()).update(`export-link\n${body}`).digest()
}
