/** The placeholders in a path for things of a market, in braces. */
type PathNames = {
  readonly offer?: string
  readonly organization?: string
  readonly call?: string
  readonly buyerKey?: string
}

/** Characters of a buyer key that lists show. */
const SHOWN_KEY_CHARS = 12

/** The path of a screen, with the ids of a market's things in it. */
export function pathOf(path: string, { offer = '', organization = '', call = '', buyerKey = '' }: PathNames): string {
  return path
    .replace('{offer}', offer)
    .replace('{organization}', organization)
    .replace('{call}', call)
    .replace('{customer}', buyerKey.slice(0, SHOWN_KEY_CHARS))
}

/**
 * The screens of the page, and the viewer of each. `{offer}` means an offer of the seller, `{organization}`
 * an organization of the member, who is signed in with a wallet, `{customer}` the beginning of the sample buyer's key.
 */
export const SCREENS = [
  { name: 'home', side: 'nobody', path: '/' },
  { name: 'models', side: 'nobody', path: '/models' },
  { name: 'models-compared', side: 'nobody', path: '/models?compare=gpt-5-mini,gpt-5-nano&search=gpt-5' },
  { name: 'models-empty', side: 'nobody', path: '/models?search=nothing-is-called-this' },
  { name: 'model', side: 'nobody', path: '/model/claude-3.5-haiku' },
  { name: 'model-missing', side: 'nobody', path: '/model/nothing' },
  { name: 'lent', side: 'nobody', path: '/lent' },
  { name: 'lent-resource', side: 'nobody', path: '/lent/provider-p1?floor=30' },
  { name: 'lent-missing', side: 'nobody', path: '/lent/nothing' },
  { name: 'feed', side: 'nobody', path: '/feed' },
  { name: 'receipt', side: 'nobody', path: '/receipt' },
  { name: 'receipt-of-others', side: 'nobody', path: '/receipt?id=01K00000000000000000000000' },
  { name: 'status', side: 'nobody', path: '/status' },
  { name: 'docs', side: 'nobody', path: '/docs' },
  { name: 'docs-text', side: 'nobody', path: '/docs/buy' },
  { name: 'docs-errors', side: 'nobody', path: '/docs/errors' },
  { name: 'docs-search', side: 'nobody', path: '/docs?search=webhook' },
  { name: 'docs-reference', side: 'nobody', path: '/docs/reference' },
  { name: 'docs-operation', side: 'nobody', path: '/docs/reference/buyerKeyCreate?lang=python' },
  { name: 'docs-schema', side: 'nobody', path: '/docs/reference/schemas/BuyerKeyCreated' },
  { name: 'terms', side: 'nobody', path: '/terms' },
  { name: 'privacy', side: 'nobody', path: '/privacy' },
  { name: 'unsubscribe', side: 'nobody', path: '/unsubscribe#alert=whk_1/token' },
  { name: 'fees', side: 'nobody', path: '/fees?list=2.500001&discount=15' },
  { name: 'sign-in', side: 'nobody', path: '/sign-in' },
  { name: 'join', side: 'nobody', path: '/join#an-invite-link' },
  { name: 'join-without-link', side: 'nobody', path: '/join' },
  { name: 'gate', side: 'nobody', path: '/buyer' },
  { name: 'not-found', side: 'nobody', path: '/buyer/nothing-here' },
  { name: 'buyer-overview', side: 'buyer', path: '/buyer' },
  { name: 'buyer-playground', side: 'buyer', path: '/playground?models=gpt-5-mini,claude-3.5-haiku&tokens=64' },
  { name: 'member-playground', side: 'member', path: '/playground' },
  { name: 'buyer-activity', side: 'buyer', path: '/buyer/activity' },
  {
    name: 'buyer-activity-summed',
    side: 'buyer',
    path: '/buyer/activity?figure=calls&group=provider&sum=yes&hours=yes',
  },
  { name: 'buyer-logs', side: 'buyer', path: '/buyer/logs?period=30d' },
  { name: 'buyer-keys', side: 'buyer', path: '/buyer/keys' },
  { name: 'buyer-jobs', side: 'buyer', path: '/buyer/jobs' },
  { name: 'buyer-limits', side: 'buyer', path: '/buyer/limits' },
  { name: 'buyer-routing', side: 'buyer', path: '/buyer/providers' },
  { name: 'buyer-routing-tried', side: 'buyer', path: '/buyer/providers?try=yes&floor=20&block=nobody' },
  { name: 'buyer-organisations', side: 'buyer', path: '/buyer/organizations' },
  { name: 'buyer-credit', side: 'buyer', path: '/buyer/credit' },
  { name: 'member-organisations', side: 'member', path: '/buyer/organizations' },
  { name: 'member-organisation', side: 'member', path: '/buyer/organizations?organization={organization}' },
  {
    name: 'member-organisation-missing',
    side: 'member',
    path: '/buyer/organizations?organization=org_01K00000000000000000000000',
  },
  { name: 'member-join-missing', side: 'member', path: '/join#not-a-link' },
  { name: 'member-start', side: 'member', path: '/start' },
  { name: 'member-account', side: 'member', path: '/account' },
  { name: 'buyer-account', side: 'buyer', path: '/account' },
  { name: 'member-credit', side: 'member', path: '/buyer/credit' },
  { name: 'member-overview-empty', side: 'member', path: '/buyer' },
  { name: 'member-offers-empty', side: 'member', path: '/seller/offers' },
  { name: 'seller-start', side: 'seller', path: '/seller/start' },
  { name: 'seller-offers', side: 'seller', path: '/seller/offers' },
  { name: 'seller-offer', side: 'seller', path: '/seller/offers/{offer}' },
  { name: 'seller-yield', side: 'seller', path: '/seller/yield?model=claude-3.5-haiku' },
  { name: 'seller-yield-models', side: 'seller', path: '/seller/yield' },
  { name: 'seller-health', side: 'seller', path: '/seller/health?days=30' },
  { name: 'seller-keys', side: 'seller', path: '/seller/keys' },
  { name: 'seller-earnings', side: 'seller', path: '/seller/earnings' },
  { name: 'seller-payouts', side: 'seller', path: '/seller/payouts' },
  { name: 'operator-cockpit', side: 'operator', path: '/operator' },
  { name: 'operator-support', side: 'operator', path: '/operator/support' },
  { name: 'operator-customer', side: 'operator', path: '/operator/support?find={customer}' },
  { name: 'operator-support-empty', side: 'operator', path: '/operator/support?find=nothing-has-this-id' },
  { name: 'operator-money', side: 'operator', path: '/operator/money' },
  { name: 'operator-cockpit-month', side: 'operator', path: '/operator?days=30' },
  { name: 'operator-ledger', side: 'operator', path: '/operator/ledger' },
  { name: 'operator-ledger-grants', side: 'operator', path: '/operator/ledger?kind=grant' },
  { name: 'operator-configuration', side: 'operator', path: '/operator/configuration' },
  { name: 'operator-invariants', side: 'operator', path: '/operator/invariants' },
  { name: 'operator-offers', side: 'operator', path: '/operator/offers' },
  { name: 'operator-catalogue', side: 'operator', path: '/operator/catalogue?model=gpt-5-mini' },
  { name: 'operator-catalogue-models', side: 'operator', path: '/operator/catalogue' },
  { name: 'operator-incidents', side: 'operator', path: '/operator/incidents' },
  { name: 'operator-audit', side: 'operator', path: '/operator/audit' },
] as const

export type Screen = (typeof SCREENS)[number]
export type ScreenSide = Screen['side']
export const SCREEN_SIDES = ['nobody', 'buyer', 'member', 'seller', 'operator'] satisfies ScreenSide[]

/** A dialog of each kind, and the button that opens it. `{call}` means a call of the buyer. */
export const DIALOGS = [
  { name: 'new-key', side: 'buyer', path: '/buyer/keys', button: 'New key' },
  { name: 'edit-key', side: 'buyer', path: '/buyer/keys', button: 'Edit' },
  { name: 'key-menu', side: 'buyer', path: '/buyer/keys', menu: /^More actions/, button: 'Freeze' },
  { name: 'playground-model', side: 'buyer', path: '/playground', button: 'Add a model to compare' },
  { name: 'playground-code', side: 'buyer', path: '/playground', button: 'Code' },
  { name: 'edit-limits', side: 'buyer', path: '/buyer/limits', button: /^Change the limits of/ },
  { name: 'new-webhook', side: 'buyer', path: '/buyer/limits', button: 'New webhook' },
  { name: 'add-provider', side: 'buyer', path: '/buyer/providers', button: 'Add a provider key' },
  {
    name: 'policy',
    side: 'buyer',
    path: '/buyer/providers',
    check: 'Allow providers that are not trusted',
    button: 'Review changes',
  },
  { name: 'job-files', side: 'buyer', path: '/buyer/jobs', button: /^View files of/ },
  { name: 'receipt-curl', side: 'buyer', path: '/receipt?id={call}', button: 'curl' },
  { name: 'wallet-line', side: 'buyer', path: '/buyer/credit', button: 'Set up' },
  { name: 'edit-offer', side: 'seller', path: '/seller/offers', button: /^Edit the offer of/ },
  {
    name: 'take-off',
    side: 'seller',
    path: '/seller/offers',
    menu: /^Edit the offer of/,
    button: 'Take off the market',
  },
  { name: 'offer-columns', side: 'seller', path: '/seller/offers', button: 'Columns' },
  { name: 'new-seller-key', side: 'seller', path: '/seller/keys', button: 'New key' },
  { name: 'give-credit', side: 'operator', path: '/operator/support?find={customer}', button: 'Give credit' },
  { name: 'refund-call', side: 'operator', path: '/operator/support?call={call}', button: 'Refund this call' },
  { name: 'delist', side: 'operator', path: '/operator/offers', button: /^Delist ofr_/ },
  { name: 'switch-off', side: 'operator', path: '/operator/incidents', button: /^Switch off/ },
  { name: 'declare', side: 'operator', path: '/operator/incidents', button: 'Declare an incident' },
  { name: 'prices', side: 'operator', path: '/operator/catalogue?model=gpt-5-mini', button: 'New prices' },
] as const
