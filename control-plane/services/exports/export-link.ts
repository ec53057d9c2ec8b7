import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'

/** The path of export links in every plane. */
export const EXPORT_PATH = '/v1/exports'
/** Lifetime of a link. */
export const EXPORT_LIFETIME_MS = 5 * MINUTE
const MAX_TOKEN_CHARS = 1_800

/** The content of a link: the kind of export and the requester's query, with the tenant. */
export type ExportGrant = { readonly kind: string; readonly query: unknown }

const Payload = z.object({ k: z.string(), q: z.unknown(), e: z.number().int() })

/** The absolute URL of a file that opens without a key, and its end in Unix milliseconds. */
export const ExportLinkSchema = z.object({
  url: z.string().describe('Opens without a key. Absolute, at the address of the API.'),
  expiresAt: UnixMs,
})
export type ExportLink = z.infer<typeof ExportLinkSchema>

/**
 * Makes a URL that opens without a key for five minutes. It names the export and its owner and is signed, so it
 * cannot be changed. The query is plain JSON without secrets.
 */
export function makeExportLink(ctx: Pick<Ctx, 'settings' | 'clock'>, grant: ExportGrant): ExportLink {
  const expiresAt = ctx.clock.now() + EXPORT_LIFETIME_MS
  const payload = { k: grant.kind, q: grant.query, e: expiresAt }
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url')
  const path = `${EXPORT_PATH}/${body}.${sign(ctx, body).toString('base64url')}`
  return { url: ctx.settings.apiBaseUrl + path, expiresAt }
}

/** Reads the token of a link. Throws `not_found` for a token that was not signed here or has expired. */
export function openExportLink(ctx: Pick<Ctx, 'settings' | 'clock'>, token: string): ExportGrant {
  const [body = '', mac = '', ...rest] = token.split('.')
  const macBytes = Buffer.from(mac, 'base64url')
  const right = sign(ctx, body)
  const isSigned = rest.length === 0 && macBytes.length === right.length && timingSafeEqual(macBytes, right)
  // Several texts decode to the same bytes. Only the issued one is accepted.
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
