import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'

/** Whose list it is: its name, its owner, and the filters that a page must not change on the way. */
export type CursorScope = { readonly list: string; readonly tenant: string; readonly filters?: readonly unknown[] }

const MAC_CHARS = 22
const TOKEN = /^([\w.:-]{1,300})~([\w-]{22})$/

/** The token of the next page: where the last one ended, signed for its list, so that no other list takes it. */
export function signCursor(ctx: Pick<Ctx, 'settings'>, scope: CursorScope, position: string): string {
  return `${position}~${macOf(ctx, scope, position)}`
}

/** The position in a token. Throws `invalid_request` for one that was edited, or given out for another list. */
export function readCursor(ctx: Pick<Ctx, 'settings'>, scope: CursorScope, token: string): string {
  const [, position = '', given = ''] = TOKEN.exec(token) ?? []
  const right = Buffer.from(macOf(ctx, scope, position))
  const mac = Buffer.from(given)
  if (position !== '' && mac.length === right.length && timingSafeEqual(mac, right)) return position
  throw new AppError('invalid_request', { message: 'Not a token of this list.', param: 'nextToken' })
}

function macOf({ settings }: Pick<Ctx, 'settings'>, { list, tenant, filters = [] }: CursorScope, position: string) {
  const text = JSON.stringify(['cursor', list, tenant, filters, position])
  return createHmac('sha256', settings.linkSecret.reveal()).update(text).digest('base64url').slice(0, MAC_CHARS)
}
