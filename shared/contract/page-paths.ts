/**
 * The first path segments of the market's web page. The control plane serves it, and the data plane passes these paths
 * on when one address serves both planes.
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
  'fees',
  'sign-in',
  'start',
  'account',
  'join',
  'unsubscribe',
  'terms',
  'privacy',
  'buyer',
  'seller',
  'operator',
  'settings',
] as const

/** True for a path of the page, with or without a remainder. */
export function isPagePath(path: string): boolean {
  const [, first = ''] = path.split('/', 2)
  return first === '' || PAGE_SEGMENTS.some((segment) => segment === first)
}
