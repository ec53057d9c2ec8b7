/** The heading over the screens of each side. */
export const TITLES = { market: 'Market', buyer: 'Buying', seller: 'Selling', operator: 'Operating' } as const

/** The screens, as the navigation and the command palette list them. `g` and the letter open one. */
export const NAVIGATION = {
  market: [
    { to: '/', label: 'Home', letter: 'h' },
    { to: '/models', label: 'Models', letter: 'm' },
    { to: '/lent', label: 'Lent accounts', letter: '3' },
    { to: '/feed', label: 'Feed and rankings', letter: 'f' },
    { to: '/receipt', label: 'Receipts', letter: '4' },
    { to: '/status', label: 'Status', letter: 's' },
    { to: '/docs', label: 'Docs', letter: 'd' },
  ],
  buyer: [
    { to: '/buyer', label: 'Overview', letter: 'b' },
    { to: '/buyer/activity', label: 'Activity', letter: 'v' },
    { to: '/buyer/logs', label: 'Logs', letter: 'l' },
    { to: '/buyer/jobs', label: 'Jobs', letter: 'j' },
    { to: '/buyer/keys', label: 'Buyer keys', letter: 'k' },
    { to: '/buyer/limits', label: 'Limits', letter: 'w' },
    { to: '/buyer/providers', label: 'Routing', letter: 'r' },
    { to: '/buyer/credit', label: 'Credit', letter: 'c' },
    { to: '/buyer/organizations', label: 'Organisations', letter: 'z' },
  ],
  seller: [
    { to: '/seller/start', label: 'List capacity', letter: 'n' },
    { to: '/seller/offers', label: 'Offers', letter: 'o' },
    { to: '/seller/yield', label: 'Yield', letter: 'q' },
    { to: '/seller/health', label: 'Health', letter: 'u' },
    { to: '/seller/earnings', label: 'Earnings', letter: 'e' },
    { to: '/seller/payouts', label: 'Payouts', letter: 'p' },
    { to: '/seller/keys', label: 'Seller keys', letter: '1' },
  ],
  operator: [
    { to: '/operator', label: 'Cockpit', letter: 'x' },
    { to: '/operator/support', label: 'Support', letter: '5' },
    { to: '/operator/money', label: 'Money', letter: 'y' },
    { to: '/operator/offers', label: 'Offers', letter: '2' },
    { to: '/operator/catalogue', label: 'Catalogue', letter: 't' },
    { to: '/operator/incidents', label: 'Incidents', letter: 'i' },
    { to: '/operator/audit', label: 'Audit', letter: 'a' },
  ],
} as const
