import type { FastifyRequest } from 'fastify'

/** A theme that the reader chose on the page. Without a choice the reader's system decides. */
export type Theme = 'light' | 'dark'

const COOKIE = /(?:^|;\s*)mkt_theme=(light|dark)(?:;|$)/

/** The theme of a reader, from the cookie that the page's switch sets. */
export function themeOf({ headers }: Pick<FastifyRequest, 'headers'>): Theme | undefined {
  const theme = COOKIE.exec(headers.cookie ?? '')?.[1]
  return theme === 'light' || theme === 'dark' ? theme : undefined
}

/** A document in a theme, so that nothing flashes and no script is needed. */
export function inTheme(html: string, theme: Theme | undefined): string {
  return theme === undefined ? html : html.replace('<html lang="en"', `<html lang="en" data-theme="${theme}"`)
}
