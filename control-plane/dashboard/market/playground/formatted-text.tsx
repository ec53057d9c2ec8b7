import Markdown from 'markdown-to-jsx/react'
import type { ReactNode } from 'react'
import { memo } from 'react'

type LinkProps = { readonly href?: string; readonly children?: ReactNode }

/** A model may write any address. Only http and https become links, and they say nothing of this page. */
function Anchor({ href = '', children }: LinkProps) {
  if (!/^https?:\/\//.test(href)) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </a>
  )
}

/** A picture at an address that the model chose would reveal the reader to its host, so only its text is shown. */
function Words({ alt }: { readonly alt?: string }) {
  return <span className="muted">{alt}</span>
}

const OPTIONS = {
  disableParsingRawHTML: true,
  forceBlock: true,
  overrides: { a: Anchor, img: Words, input: () => null, h1: 'h3', h2: 'h3' },
} as const

/** The Markdown of an answer as the page's own elements. */
export const FormattedText = memo(({ text }: { readonly text: string }) => (
  <Markdown options={OPTIONS}>{text}</Markdown>
))
