import type { CommandRow, Option } from '#control-plane/cli/command.ts'
import { PAGE } from './buyer.ts'

const REASON: Option = { flags: '--reason <text>', text: 'why, for the audit' }
const YES: Option = { flags: '--yes', text: 'do not ask' }
const DRY_RUN: Option = { flags: '--dry-run', text: 'only show what would change' }
const ACCEPT: Option = {
  flags: '--accept <models>',
  text: 'models whose prices may move by more than twice, with commas between; or all',
}
const OVERWRITE: Option = { flags: '--overwrite', text: 'replace what operators set, too' }
const NOTE: Option = { flags: '--note <text>', text: 'what everybody is told' }
const TOUCHED: readonly Option[] = [
  { flags: '--state <state>', text: 'how far it is', choices: ['investigating', 'identified', 'monitoring'] },
  { flags: '--models <list>', text: 'the models it touches, with commas between' },
  { flags: '--providers <list>', text: 'the providers it touches, with commas between' },
]

/** Operators' commands for the catalogue, providers, offers and incidents. */
export const OPERATOR_MARKET_COMMANDS: readonly CommandRow[] = [
  {
    name: 'operator setup',
    summary: 'Fill a market with the providers, models and prices of this release.',
    options: [DRY_RUN, ACCEPT, OVERWRITE, YES],
    examples: ['operator setup --dry-run', 'operator setup'],
    load: async () => (await import('#control-plane/cli/actions/operator-refresh.ts')).setUp,
  },
  {
    name: 'operator catalog refresh',
    summary: 'Compare the catalogue with the data of this release, then update it.',
    options: [
      { flags: '--list <file>', text: "models beside them, in the shape of OpenRouter's /api/v1/models" },
      { flags: '--source <text>', text: 'where the values of the list come from' },
      DRY_RUN,
      ACCEPT,
      OVERWRITE,
      YES,
    ],
    examples: ['operator catalog refresh --dry-run', 'operator catalog refresh --accept grok-4.3'],
    load: async () => (await import('#control-plane/cli/actions/operator-refresh.ts')).refreshCatalog,
  },
  {
    name: 'operator catalog import',
    summary: 'Compare a list of models with the catalogue, then import it.',
    arguments: [
      { name: '<file>', text: "a list in the shape of OpenRouter's /api/v1/models; - is the standard input" },
    ],
    options: [
      { flags: '--source <text>', text: 'where the values come from; stands beside every change' },
      { flags: '--effective-at <time>', text: 'from when prices count, as 2026-12-01T00:00:00Z; now otherwise' },
      DRY_RUN,
      YES,
    ],
    examples: ['operator catalog import models.json --source openrouter-2026-11'],
    load: async () => (await import('#control-plane/cli/actions/operator-import.ts')).importCatalog,
  },
  {
    name: 'operator catalog history',
    procedure: 'catalog.history',
    options: [{ flags: '--model <model>', text: 'only this model' }, ...PAGE],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).showHistory,
  },
  {
    name: 'operator aliases list',
    procedure: 'alias.list',
    options: [{ flags: '--model <model>', text: 'only of this model' }],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).listAliases,
  },
  {
    name: 'operator aliases put',
    procedure: 'alias.put',
    arguments: [
      { name: '<alias>', text: 'the name' },
      { name: '<model>', text: 'the model it means' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).putAlias,
  },
  {
    name: 'operator aliases remove',
    procedure: 'alias.remove',
    arguments: [{ name: '<alias>', text: 'the name' }],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).removeAlias,
  },
  {
    name: 'operator prices list',
    procedure: 'price.list',
    arguments: [{ name: '<model>', text: 'the model' }],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).listPrices,
  },
  {
    name: 'operator prices put',
    procedure: 'price.put',
    arguments: [{ name: '<model>', text: 'the model' }],
    options: [
      { flags: '--input <dollars>', text: 'a million tokens in' },
      { flags: '--output <dollars>', text: 'a million tokens out' },
      { flags: '--cache-read <dollars>', text: 'a million tokens read from the cache' },
      { flags: '--cache-write <dollars>', text: 'a million tokens written to the cache' },
      { flags: '--source <text>', text: 'where the values come from; stands beside every change' },
      { flags: '--effective-at <time>', text: 'from when prices count, as 2026-12-01T00:00:00Z; now otherwise' },
    ],
    examples: ['operator prices put gpt-5-mini --input 0.25 --output 2 --source vendor-page'],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).putPrices,
  },
  {
    name: 'operator providers list',
    procedure: 'provider.list',
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).listProviders,
  },
  {
    name: 'operator drift',
    procedure: 'drift.providers',
    options: [
      { flags: '--from <day>', text: 'the first day of the bills in UTC, as 2026-11-01' },
      { flags: '--to <day>', text: 'the last day' },
      { flags: '--above <percent>', text: 'only differences above this; 1 otherwise' },
    ],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).showProviderDrift,
  },
  {
    name: 'operator providers put',
    procedure: 'provider.put',
    arguments: [{ name: '<id>', text: 'its slug' }],
    options: [
      { flags: '--base-url <url>', text: 'where its API starts; the host may be a pattern, as *.openai.azure.com' },
      { flags: '--name <text>', text: 'its name' },
      { flags: '--trusted', text: 'default routing may use it' },
      { flags: '--cost-reference <url>', text: 'where its prices stand' },
      { flags: '--endpoints <names>', text: 'the endpoints that its host runs, as chat,embeddings; all otherwise' },
      { flags: '--hosts <hosts>', text: 'other hosts of its API, as *.services.ai.azure.com' },
      { flags: '--base-paths <paths>', text: 'other paths of its hosts where an API starts, as /anthropic,/beta/v1' },
      {
        flags: '--file-hosts <hosts>',
        text: 'other hosts from which files of its jobs are fetched, as cdn.example.com',
      },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).putProvider,
  },
  {
    name: 'operator providers trust',
    summary: 'Allow default routing to use a provider.',
    arguments: [{ name: '<id>', text: 'its slug' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).trustProvider,
  },
  {
    name: 'operator providers distrust',
    summary: 'Stop default routing from using a provider.',
    arguments: [{ name: '<id>', text: 'its slug' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).distrustProvider,
  },
  {
    name: 'operator providers remove',
    procedure: 'provider.remove',
    arguments: [{ name: '<id>', text: 'its slug' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).removeProvider,
  },
  {
    name: 'operator offers',
    procedure: 'marketOffer.search',
    options: [
      { flags: '--model <model>', text: 'only this model' },
      { flags: '--provider <id>', text: 'only this provider' },
      { flags: '--status <status>', text: 'only these', choices: ['active', 'paused', 'inactive'] },
      { flags: '--wallet <address>', text: 'only of this seller' },
      { flags: '--delisted', text: 'only those taken off by an operator' },
      ...PAGE,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).searchOffers,
  },
  {
    name: 'operator delist',
    procedure: 'marketOffer.delist',
    arguments: [{ name: '<offer>', text: 'the offer, ofr_…' }],
    options: [REASON],
    examples: ['operator delist ofr_… --reason "resold key"'],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).delistOffer,
  },
  {
    name: 'operator restore',
    procedure: 'marketOffer.restore',
    arguments: [{ name: '<offer>', text: 'the offer, ofr_…' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).restoreOffer,
  },
  {
    name: 'operator incidents list',
    procedure: 'market.declaredIncidents',
    options: PAGE,
    load: async () => (await import('#control-plane/cli/actions/operator-incidents.ts')).listIncidents,
  },
  {
    name: 'operator incidents declare',
    procedure: 'incident.declare',
    arguments: [{ name: '<title>', text: 'one line that says what is wrong' }],
    options: [
      NOTE,
      ...TOUCHED,
      { flags: '--started-at <time>', text: 'since when, as 2026-11-21T00:00:00Z; now otherwise' },
    ],
    examples: ['operator incidents declare "Slow answers" --models gpt-5-mini --note "Tripled times to first token."'],
    load: async () => (await import('#control-plane/cli/actions/operator-incidents.ts')).declareIncident,
  },
  {
    name: 'operator incidents update',
    procedure: 'incident.update',
    arguments: [{ name: '<incident>', text: 'the incident, inc_…' }],
    options: [NOTE, ...TOUCHED, { flags: '--title <text>', text: 'another title' }],
    load: async () => (await import('#control-plane/cli/actions/operator-incidents.ts')).updateIncident,
  },
  {
    name: 'operator incidents end',
    procedure: 'incident.end',
    arguments: [{ name: '<incident>', text: 'the incident, inc_…' }],
    options: [NOTE],
    load: async () => (await import('#control-plane/cli/actions/operator-incidents.ts')).endIncident,
  },
]
