import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'

/**
 * The list that a cursor belongs to: its name, its owner, and the filters, which must stay the same from page to page.
 */
export type CursorScope = { readonly list: string; readonly tenant: string; readonly filters?: readonly unknown[] }

const MAC_CHARS = 22
const TOKEN = /^([\w.:-]{1,300})~([\w-]{22})$/

/**
 * Makes the token of the next page. The token holds the end of the last page and is signed for its list, so no other
 * list accepts it.
 */
export function signCursor(ctx: Pick<Ctx, 'settings'>, scope: CursorScope, position: string): string {
  return `${position}~${macOf(ctx, scope, position)}`
}

/** Reads the position in a token. Throws `invalid_request` for a token that was edited, or issued for another list. */
export function readCursor(ctx: Pick<Ctx, 'settings'>, scope: CursorScope, token: string): string {
  const [, position = '', givenMac = ''] = TOKEN.exec(token) ?? []
  const right = Buffer.from(macOf(ctx, scope, position))
  const mac = Buffer.from(givenMac)
  if (position !== '' && mac.length === right.length && timingSafeEqual(mac, right)) return position
  throw new AppError('invalid_request', {
    message: 'This next_token belongs to another list, filter or order. Start again from the first page.',
    param: 'nextToken',
  })
}

function macOf({ settings }: Pick<Ctx, 'settings'>, { list, tenant, filters = [] }: CursorScope, position: string) {
  const text = JSON.stringify(['cursor', list, tenant, filters, position])
  return createHmac('sha256', settings.linkSecret.reveal()).update(text).digest('base64url').slice(0, MAC_CHARS)
}
