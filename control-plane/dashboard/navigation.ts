/** The heading over the screens of each side. */
export const TITLES = { market: 'Market', buyer: 'Buying', seller: 'Selling', operator: 'Operating' } as const

/**
 * The screens, as the navigation and the command palette list them. `g` and the letter open one. Screens that people
 * open many times a day have a letter; the palette finds the others.
 */
export const NAVIGATION = {
  market: [
    { to: '/', label: 'Home', letter: 'h' },
    { to: '/models', label: 'Models', letter: 'm' },
    { to: '/lent', label: 'Lent accounts' },
    { to: '/feed', label: 'Feed and rankings' },
    { to: '/receipt', label: 'Receipts' },
    { to: '/status', label: 'Status', letter: 's' },
    { to: '/docs', label: 'Docs', letter: 'd' },
  ],
  buyer: [
    { to: '/buyer', label: 'Overview', letter: 'b' },
    { to: '/playground', label: 'Playground', letter: 't' },
    { to: '/buyer/activity', label: 'Activity', letter: 'a' },
    { to: '/buyer/logs', label: 'Logs', letter: 'l' },
    { to: '/buyer/jobs', label: 'Jobs' },
    { to: '/buyer/keys', label: 'Buyer keys', letter: 'k' },
    { to: '/buyer/limits', label: 'Limits' },
    { to: '/buyer/providers', label: 'Routing' },
    { to: '/buyer/credit', label: 'Credit', letter: 'c' },
    { to: '/buyer/organizations', label: 'Organisations' },
  ],
  seller: [
    { to: '/seller/start', label: 'List capacity' },
    { to: '/seller/offers', label: 'Offers', letter: 'o' },
    { to: '/seller/yield', label: 'Yield', letter: 'q' },
    { to: '/seller/health', label: 'Health' },
    { to: '/seller/earnings', label: 'Earnings', letter: 'e' },
    { to: '/seller/payouts', label: 'Payouts', letter: 'p' },
    { to: '/seller/keys', label: 'Seller keys' },
  ],
  operator: [
    { to: '/operator', label: 'Cockpit' },
    { to: '/operator/support', label: 'Support' },
    { to: '/operator/money', label: 'Money', letter: 'y' },
    { to: '/operator/ledger', label: 'Ledger' },
    { to: '/operator/invariants', label: 'Invariants' },
    { to: '/operator/offers', label: 'Offers' },
    { to: '/operator/catalogue', label: 'Catalogue' },
    { to: '/operator/incidents', label: 'Incidents' },
    { to: '/operator/configuration', label: 'Configuration' },
    { to: '/operator/audit', label: 'Audit' },
  ],
} as const

export type NavigationSide = keyof typeof NAVIGATION

/** A screen in the navigation. */
export type NavigationItem = {
  readonly to: string
  readonly label: string
  readonly letter?: string
}

/** The side that a path belongs to. Paths of no side belong to the market. */
export function sideOf(path: string): NavigationSide {
  const [, first] = path.split('/')
  if (first === 'playground') return 'buyer'
  return first === 'buyer' || first === 'seller' || first === 'operator' ? first : 'market'
}

/**
 * The groups that are open: the one of the path, then the others in turn while all their rows fit. The title of a
 * closed group takes a row as well.
 */
export function openSides(sides: readonly NavigationSide[], path: string, rows: number): ReadonlySet<NavigationSide> {
  const here = sideOf(path)
  let left = rows - sides.length
  const open = new Set<NavigationSide>()
  for (const side of [here, ...sides.filter((other) => other !== here)]) {
    const needed = NAVIGATION[side].length
    if (side !== here && needed > left) continue
    left -= needed
    open.add(side)
  }
  return open
}
