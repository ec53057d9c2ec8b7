/**
 * Where the web page of the market is: its first path segments. The control plane serves it, and the data plane passes
 * these paths on where one address serves both planes.
 */
export const PAGE_SEGMENTS = [
  'assets',
  'models',
  'model',
  'playground',
  'lent',
  'feed',
  'receipt',
  'status',
  'docs',
  'sign-in',
  'start',
  'account',
  'terms',
  'privacy',
  'buyer',
  'seller',
  'operator',
  'settings',
] as const

/** True for a path of the page, with or without something behind it. */
export function isPagePath(path: string): boolean {
  const [, first = ''] = path.split('/', 2)
  return first === '' || PAGE_SEGMENTS.some((segment) => segment === first)
}
