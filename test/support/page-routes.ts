/** The screens of the page, and who looks at each. `{offer}` stands for an offer of the seller. */
export const SCREENS = [
  { name: 'home', side: 'nobody', path: '/' },
  { name: 'models', side: 'nobody', path: '/models' },
  { name: 'models-compared', side: 'nobody', path: '/models?compare=gpt-5-mini,gpt-5-nano&search=gpt-5' },
  { name: 'models-empty', side: 'nobody', path: '/models?search=nothing-is-called-this' },
  { name: 'model', side: 'nobody', path: '/model/gpt-5-mini' },
  { name: 'model-missing', side: 'nobody', path: '/model/nothing' },
  { name: 'feed', side: 'nobody', path: '/feed' },
  { name: 'status', side: 'nobody', path: '/status' },
  { name: 'sign-in', side: 'nobody', path: '/sign-in' },
  { name: 'gate', side: 'nobody', path: '/buyer' },
  { name: 'not-found', side: 'nobody', path: '/buyer/nothing-here' },
  { name: 'buyer-overview', side: 'buyer', path: '/buyer' },
  { name: 'buyer-logs', side: 'buyer', path: '/buyer/logs?period=30d' },
  { name: 'buyer-keys', side: 'buyer', path: '/buyer/keys' },
  { name: 'buyer-credit', side: 'buyer', path: '/buyer/credit' },
  { name: 'seller-start', side: 'seller', path: '/seller/start' },
  { name: 'seller-offers', side: 'seller', path: '/seller/offers' },
  { name: 'seller-offer', side: 'seller', path: '/seller/offers/{offer}' },
  { name: 'seller-earnings', side: 'seller', path: '/seller/earnings' },
  { name: 'seller-payouts', side: 'seller', path: '/seller/payouts' },
  { name: 'operator-cockpit', side: 'operator', path: '/operator' },
  { name: 'operator-money', side: 'operator', path: '/operator/money' },
  { name: 'operator-catalogue', side: 'operator', path: '/operator/catalogue' },
  { name: 'operator-incidents', side: 'operator', path: '/operator/incidents' },
  { name: 'operator-audit', side: 'operator', path: '/operator/audit' },
] as const

export type Screen = (typeof SCREENS)[number]
export type ScreenSide = Screen['side']
