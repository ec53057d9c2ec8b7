import { OFFER_STATES } from '#control-plane/cli/choices.ts'
import type { CommandRow, Option } from '#control-plane/cli/command.ts'
import { PASSES } from '#shared/members/surcharge.ts'
import { DEFAULT_PROTOCOL, PROTOCOL_NAMES } from '#shared/protocols/index.ts'
import { PAGE } from './buyer.ts'

const PLACE: readonly Option[] = [
  { flags: '--provider <url>', text: 'base URL of the provider, as https://api.example.com/v1' },
  { flags: '--key-env <variable>', text: "the variable with the provider's key" },
  { flags: '--key-from <file>', text: "a file of mode 0600 with the provider's key" },
  { flags: '--reuse-key <fingerprint>', text: 'a key that is saved already' },
  { flags: '--format <format>', text: 'the protocol it speaks', choices: PROTOCOL_NAMES, fallback: DEFAULT_PROTOCOL },
]
const YES: Option = { flags: '--yes', text: 'do not ask' }
const OFFER = [{ name: '<id>', text: 'the offer, ofr_…' }]

/** The commands of sellers. */
export const SELLER_COMMANDS: readonly CommandRow[] = [
  {
    name: 'sell',
    summary: 'List capacity: find out what a provider serves, and offer it.',
    options: [
      ...PLACE,
      { flags: '--discount <percent>', text: 'percent off the reference price' },
      {
        flags: '--models <list>',
        text: 'only these models, with commas between, as MODEL or MODEL=NAME where the protocol has no list; all that can be sold otherwise',
      },
      { flags: '--cap-daily <dollars>', text: 'the most that each offer sells in a UTC day' },
      { flags: '--passes <list>', text: `members of calls that you allow, with commas between: ${PASSES.join(', ')}` },
      { flags: '--payout-address <address>', text: 'where the earnings go' },
      { flags: '--label <text>', text: 'a name for people' },
      { flags: '--dry-run', text: 'show what would be listed' },
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
    options: [...PLACE, { flags: '--model <model>', text: 'a model to ask for' }],
    load: async () => (await import('#control-plane/cli/actions/sell.ts')).testProvider,
  },
  {
    name: 'offers list',
    procedure: 'offer.list',
    options: [
      { flags: '--status <status>', text: 'only these', choices: OFFER_STATES },
      { flags: '--model <model>', text: 'only this model' },
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
      { flags: '--discount <percent>', text: 'percent off the reference price' },
      { flags: '--cap-daily <dollars>', text: 'the most it sells in a UTC day; none lifts it' },
      { flags: '--passes <list>', text: 'members of calls that you allow, with commas between; none takes all back' },
      { flags: '--label <text>', text: 'a name for people' },
    ],
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).updateOffer,
  },
  {
    name: 'offers activate',
    summary: 'Put an offer on sale.',
    arguments: OFFER,
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).activateOffer,
  },
  {
    name: 'offers pause',
    summary: 'Take an offer off sale for now.',
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
    summary: 'Take every active offer off the market, and wait for it.',
    options: [YES],
    load: async () => (await import('#control-plane/cli/actions/offers.ts')).cancelOffers,
  },
  {
    name: 'earnings',
    procedure: 'earnings.get',
    options: [{ flags: '--range <span>', text: 'how far back, as 7d' }],
    load: async () => (await import('#control-plane/cli/actions/earnings.ts')).showEarnings,
  },
  {
    name: 'bills import',
    procedure: 'bill.import',
    arguments: [{ name: '<file>', text: 'CSV or JSON, or a cost report of the provider; - is the standard input' }],
    options: [{ flags: '--provider <id>', text: 'the provider, as openai' }],
    examples: ['bills import november.csv --provider openai'],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).importBill,
  },
  {
    name: 'bills fetch',
    procedure: 'bill.fetch',
    options: [
      { flags: '--provider <id>', text: 'openai, anthropic or openrouter' },
      { flags: '--key-env <name>', text: 'the variable that holds the admin key' },
      { flags: '--key-from <file>', text: 'a file that only you can read, with the admin key' },
      { flags: '--days <n>', text: 'how many days that are over; 30 otherwise' },
    ],
    examples: ['bills fetch --provider openai --key-env OPENAI_ADMIN_KEY'],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).fetchBill,
  },
  {
    name: 'bills remove',
    procedure: 'bill.remove',
    options: [
      { flags: '--provider <id>', text: 'the provider, as openai' },
      { flags: '--from <day>', text: 'the first day in UTC, as 2026-11-01; all days otherwise' },
      { flags: '--to <day>', text: 'the last day' },
      YES,
    ],
    examples: ['bills remove --provider openai --from 2026-11-01 --to 2026-11-30'],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).removeBill,
  },
  {
    name: 'drift',
    procedure: 'drift.read',
    options: [
      { flags: '--from <day>', text: 'the first day in UTC, as 2026-11-01' },
      { flags: '--to <day>', text: 'the last day' },
      { flags: '--provider <id>', text: 'only this provider' },
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
      { flags: '--to <address>', text: 'only what goes to this address' },
      { flags: '--self-submit', text: 'get a signed authorization that the recipient brings to the chain' },
      YES,
    ],
    examples: ['payouts request --self-submit'],
    load: async () => (await import('#control-plane/cli/actions/payouts.ts')).requestPayout,
  },
  {
    name: 'payouts show',
    procedure: 'payout.get',
    arguments: [{ name: '<id>', text: 'the payout, pay_…' }],
    load: async () => (await import('#control-plane/cli/actions/payouts.ts')).showPayout,
  },
  {
    name: 'health-log',
    procedure: 'offer.healthLog',
    options: [{ flags: '--offer <id>', text: 'only this offer' }, ...PAGE],
    load: async () => (await import('#control-plane/cli/actions/earnings.ts')).showHealthLog,
  },
]
