import type { Settings } from '#control-plane/operation/ctx.ts'

/**
 * The origin of the page to which links in mails lead. It is the origin on which passkeys work, if there is one,
 * because a page on loopback has two names, and each has cookies of its own.
 */
export function pageOriginOf({ relyingParty, baseUrl }: Pick<Settings, 'relyingParty' | 'baseUrl'>): string {
  return relyingParty?.origins.at(-1) ?? baseUrl
}
