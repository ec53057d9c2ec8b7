/**
 * Data that only the maker of a thought can read: its signature over a text that is shown, or the thought itself,
 * sealed.
 */
export type Seal = { readonly kind: 'signature' | 'redacted'; readonly text: string }

const MARKS = { signature: 'sig.', redacted: 'red.' } as const

/** A seal as the `encrypted_content` that a client keeps and sends back. */
export function closeSeal({ kind, text }: Seal): string {
  return MARKS[kind] + text
}

/** Opens an `encrypted_content` that we have written; anybody else's holds nothing for us. */
export function openSeal(content: string | undefined): { readonly signature?: string; readonly redacted?: string } {
  if (content?.startsWith(MARKS.signature)) return { signature: content.slice(MARKS.signature.length) }
  if (content?.startsWith(MARKS.redacted)) return { redacted: content.slice(MARKS.redacted.length) }
  return {}
}
