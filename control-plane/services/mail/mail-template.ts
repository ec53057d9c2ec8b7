import type { Mail } from '#control-plane/ports/mail/mail-sender.ts'

/** The words of a mail, before they are written as text and as HTML. */
export type MailWords = {
  readonly subject: string
  /** Paragraphs above the button. */
  readonly lines: readonly string[]
  readonly action?: { readonly label: string; readonly url: string }
  /** Paragraphs below the button, in small letters. */
  readonly foot: readonly string[]
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escapeText = (text: string) => text.replaceAll(/[&<>"]/g, (letter) => ESCAPES[letter] ?? letter)

const FONT = 'font:16px/1.5 system-ui,-apple-system,Segoe UI,sans-serif'
const BUTTON =
  'display:inline-block;padding:10px 18px;border-radius:6px;background:#14532d;color:#fff;text-decoration:none'

/** The one form of every mail: text, and the same in HTML without pictures and without anything from elsewhere. */
export function writeMail(to: string, { subject, lines, action, foot }: MailWords): Omit<Mail, 'unsubscribeUrl'> {
  const text = [...lines, ...(action === undefined ? [] : [`${action.label}:\n${action.url}`]), ...foot].join('\n\n')
  const paragraphs = (texts: readonly string[], style: string) =>
    texts.map((line) => `<p style="${style}">${escapeText(line)}</p>`).join('')
  const button =
    action === undefined
      ? ''
      : `<p><a href="${escapeText(action.url)}" style="${BUTTON}">${escapeText(action.label)}</a></p>`
  const html = [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeText(subject)}</title></head>`,
    `<body style="margin:0;padding:24px;${FONT};color:#1a1a1a"><div style="max-width:480px">`,
    paragraphs(lines, 'margin:0 0 16px'),
    button,
    paragraphs(foot, 'margin:16px 0 0;font-size:13px;color:#555'),
    '</div></body></html>',
  ].join('')
  return { to, subject, text: `${text}\n`, html }
}
