import { OFFER_STATES } from '#control-plane/cli/choices.ts'
import type { CommandRow, Option } from '#control-plane/cli/command.ts'
import { PASSES } from '#shared/members/surcharge.ts'
import { DEFAULT_PROTOCOL, PROTOCOL_NAMES } from '#shared/protocols/index.ts'
import { PAGE } from './buyer.ts'

const PLACE: readonly Option[] = [
  { flags: '--provider <url>', text: 'base URL of the provider, e.g. https://api.example.com/v1' },
  { flags: '--key-env <variable>', text: "environment variable with the provider's key" },
  { flags: '--key-from <file>', text: "file with the provider's key (mode 0600)" },
  { flags: '--reuse-key <fingerprint>', text: 'fingerprint of a saved key' },
  { flags: '--format <format>', text: 'protocol of the provider', choices: PROTOCOL_NAMES, fallback: DEFAULT_PROTOCOL },
]
const YES: Option = { flags: '--yes', text: 'skip the confirmation' }
const OFFER = [{ name: '<id>', text: 'offer id (ofr_…)' }]

/** The commands of sellers. */
export const SELLER_COMMANDS: readonly CommandRow[] = [
  {
    name: 'sell',
    summary: 'List models of a provider at a discount.',
    options: [
      ...PLACE,
      { flags: '--discount <percent>', text: 'percent off the list price' },
      {
        flags: '--models <list>',
        text: 'models, separated by commas: MODEL, or MODEL=NAME, with the provider’s name, where the protocol lists no models. Leave out for all',
      },
      { flags: '--cap-daily <dollars>', text: 'daily cap of each offer (UTC)' },
      { flags: '--passes <list>', text: `request options that you allow, separated by commas: ${PASSES.join(', ')}` },
      { flags: '--payout-address <address>', text: 'address for payouts' },
      { flags: '--label <text>', text: 'name that only you see' },
      { flags: '--dry-run', text: 'show the offers, create nothing' },
      YES,
    ],
    examples: ['sell --provider https://api.example.com/v1 --key-env PROVIDER_KEY --discount 30'],
    load: async () => (await import('#control-plane/cli/actions/sell.ts')).sell,
  },
  {
    name: 'discover',
    procedure: 'probe.discover',
    options: PLACE,
    load: async () => (await import('#control-plane/cli/actions/sell.ts')).discover,
  },
  {
    name: 'test-provider',
    procedure: 'probe.testConnection',
    options: [...PLACE, { flags: '--model <model>', text: 'model to test' }],
    load: async () => (await import('#control-plane/cli/actions/sell.ts')).testProvider,
  },
  {
    name: 'offers list',
    procedure: 'offer.list',
    options: [
      { flags: '--status <status>', text: 'state', choices: OFFER_STATES },
      { flags: '--model <model>', text: 'model' },
      ...PAGE,
    ],
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).listOffers,
  },
  {
    name: 'offers show',
    procedure: 'offer.get',
    arguments: OFFER,
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).showOffer,
  },
  {
    name: 'offers update',
    procedure: 'offer.update',
    arguments: OFFER,
    options: [
      { flags: '--discount <percent>', text: 'percent off the list price' },
      { flags: '--cap-daily <dollars>', text: 'daily cap (UTC), or none' },
      { flags: '--passes <list>', text: 'request options that you allow, separated by commas, or none' },
      { flags: '--label <text>', text: 'name that only you see' },
    ],
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).updateOffer,
  },
  {
    name: 'offers activate',
    summary: 'Activate an offer.',
    arguments: OFFER,
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).activateOffer,
  },
  {
    name: 'offers pause',
    summary: 'Pause an offer.',
    arguments: OFFER,
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).pauseOffer,
  },
  {
    name: 'offers remove',
    procedure: 'offer.delete',
    arguments: OFFER,
    options: [YES],
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).removeOffer,
  },
  {
    name: 'offers reset-health',
    procedure: 'offer.resetHealth',
    arguments: OFFER,
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).resetOffer,
  },
  {
    name: 'offers cancel-all',
    summary: 'Cancel all active offers and wait until they are off the market.',
    options: [YES],
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).cancelOffers,
  },
  {
    name: 'earnings',
    procedure: 'earnings.get',
    options: [
      { flags: '--range <span>', text: 'period to show, e.g. 7d' },
      { flags: '--limit <count>', text: 'models to show; default 20' },
    ],
    load: async () => (await import('#control-plane/cli/actions/earnings.ts')).showEarnings,
  },
  {
    name: 'bills import',
    procedure: 'bill.import',
    arguments: [{ name: '<file>', text: 'CSV, JSON or a cost report of the provider; - reads standard input' }],
    options: [{ flags: '--provider <id>', text: 'provider, e.g. openai' }],
    examples: ['bills import november.csv --provider openai'],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).importBill,
  },
  {
    name: 'bills fetch',
    procedure: 'bill.fetch',
    options: [
      { flags: '--provider <id>', text: 'openai, anthropic or openrouter' },
      { flags: '--key-env <name>', text: 'environment variable with the admin key' },
      { flags: '--key-from <file>', text: 'file with the admin key (mode 0600)' },
      { flags: '--days <n>', text: 'number of finished days; default 30' },
    ],
    examples: ['bills fetch --provider openai --key-env OPENAI_ADMIN_KEY'],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).fetchBill,
  },
  {
    name: 'bills remove',
    procedure: 'bill.remove',
    options: [
      { flags: '--provider <id>', text: 'provider, e.g. openai' },
      { flags: '--from <day>', text: 'first day (UTC), e.g. 2026-11-01; leave out for all' },
      { flags: '--to <day>', text: 'last day (UTC)' },
      YES,
    ],
    examples: ['bills remove --provider openai --from 2026-11-01 --to 2026-11-30'],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).removeBill,
  },
  {
    name: 'drift',
    procedure: 'drift.read',
    options: [
      { flags: '--from <day>', text: 'first day (UTC), e.g. 2026-11-01' },
      { flags: '--to <day>', text: 'last day (UTC)' },
      { flags: '--provider <id>', text: 'provider' },
    ],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).showDrift,
  },
  {
    name: 'payouts list',
    procedure: 'earnings.payouts',
    options: PAGE,
    load: async () => (await import('#control-plane/cli/actions/payouts.ts')).showPayouts,
  },
  {
    name: 'payouts request',
    procedure: 'payout.request',
    options: [
      { flags: '--to <address>', text: 'payout address' },
      { flags: '--self-submit', text: 'get a signed authorization to send to the chain yourself' },
      YES,
    ],
    examples: ['payouts request --self-submit'],
    load: async () => (await import('#control-plane/cli/actions/payouts.ts')).requestPayout,
  },
  {
    name: 'payouts show',
    procedure: 'payout.get',
    arguments: [{ name: '<id>', text: 'payout id (pay_…)' }],
    load: async () => (await import('#control-plane/cli/actions/payouts.ts')).showPayout,
  },
  {
    name: 'health-log',
    procedure: 'offer.healthLog',
    options: [{ flags: '--offer <id>', text: 'offer id' }, ...PAGE],
    load: async () => (await import('#control-plane/cli/actions/earnings.ts')).showHealthLog,
  },
]
