/** What only a thought's maker can read: its stamp on a text that is shown, or the thought itself. */
export type Seal = { readonly kind: 'signature' | 'redacted'; readonly text: string }

const MARKS = { signature: 'sig.', redacted: 'red.' } as const

/** A seal as the `encrypted_content` that a client keeps and sends back. */
export function closeSeal({ kind, text }: Seal): string {
  return MARKS[kind] + text
}

/** What stands in an `encrypted_content` of ours; nothing in anybody else's. */
export function openSeal(content: string | undefined): { readonly signature?: string; readonly redacted?: string } {
  if (content?.startsWith(MARKS.signature)) return { signature: content.slice(MARKS.signature.length) }
  if (content?.startsWith(MARKS.redacted)) return { redacted: content.slice(MARKS.redacted.length) }
  return {}
}
