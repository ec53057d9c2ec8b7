import type { CommandRow, Option } from '#control-plane/cli/command.ts'
import { PAGE } from './buyer.ts'

const REASON: Option = { flags: '--reason <text>', text: 'reason, for the audit log' }
const YES: Option = { flags: '--yes', text: 'skip the confirmation' }
const DRY_RUN: Option = { flags: '--dry-run', text: 'show the changes, store nothing' }
const ACCEPT: Option = {
  flags: '--accept <models>',
  text: 'models whose prices may change by more than a factor of two, separated by commas; or all',
}
const OVERWRITE: Option = { flags: '--overwrite', text: 'also replace values that operators set' }
const NOTE: Option = { flags: '--note <text>', text: 'public note' }
const TOUCHED: readonly Option[] = [
  { flags: '--state <state>', text: 'state', choices: ['investigating', 'identified', 'monitoring'] },
  { flags: '--models <list>', text: 'affected models, separated by commas' },
  { flags: '--providers <list>', text: 'affected providers, separated by commas' },
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
      { flags: '--list <file>', text: "file with more models, in the shape of OpenRouter's /api/v1/models" },
      { flags: '--source <text>', text: 'source of the values of the list' },
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
    arguments: [{ name: '<file>', text: "list in the shape of OpenRouter's /api/v1/models; - reads standard input" }],
    options: [
      { flags: '--source <text>', text: 'source of the values, kept with every change' },
      { flags: '--effective-at <time>', text: 'start of the prices, e.g. 2026-12-01T00:00:00Z; default now' },
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
    options: [{ flags: '--model <model>', text: 'only this model' }],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).listAliases,
  },
  {
    name: 'operator aliases put',
    procedure: 'alias.put',
    arguments: [
      { name: '<alias>', text: 'name' },
      { name: '<model>', text: 'model that the name means' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).putAlias,
  },
  {
    name: 'operator aliases remove',
    procedure: 'alias.remove',
    arguments: [{ name: '<alias>', text: 'name' }],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).removeAlias,
  },
  {
    name: 'operator prices list',
    procedure: 'price.list',
    arguments: [{ name: '<model>', text: 'model name or alias' }],
    load: async () => (await import('#control-plane/cli/actions/operator-catalog.ts')).listPrices,
  },
  {
    name: 'operator prices put',
    procedure: 'price.put',
    arguments: [{ name: '<model>', text: 'model name or alias' }],
    options: [
      { flags: '--input <dollars>', text: 'price of a million input tokens' },
      { flags: '--output <dollars>', text: 'price of a million output tokens' },
      { flags: '--cache-read <dollars>', text: 'price of a million tokens read from the cache' },
      { flags: '--cache-write <dollars>', text: 'price of a million tokens written to the cache' },
      { flags: '--source <text>', text: 'source of the values, kept with every change' },
      { flags: '--effective-at <time>', text: 'start of the prices, e.g. 2026-12-01T00:00:00Z; default now' },
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
      { flags: '--from <day>', text: 'first day of the bills (UTC), e.g. 2026-11-01' },
      { flags: '--to <day>', text: 'last day (UTC)' },
      { flags: '--above <percent>', text: 'only differences above this; default 1' },
    ],
    load: async () => (await import('#control-plane/cli/actions/drift.ts')).showProviderDrift,
  },
  {
    name: 'operator providers put',
    procedure: 'provider.put',
    arguments: [{ name: '<id>', text: 'slug of the provider' }],
    options: [
      { flags: '--base-url <url>', text: 'base URL of the API; the host may be a pattern, e.g. *.openai.azure.com' },
      { flags: '--name <text>', text: 'name of the provider' },
      { flags: '--trusted', text: 'allow default routing to use the provider' },
      { flags: '--cost-reference <url>', text: 'page with its prices' },
      { flags: '--endpoints <names>', text: 'endpoints of the host, e.g. chat,embeddings; leave out for all' },
      { flags: '--hosts <hosts>', text: 'other hosts of the API, e.g. *.services.ai.azure.com' },
      { flags: '--base-paths <paths>', text: 'other base paths of its hosts, e.g. /anthropic,/beta/v1' },
      {
        flags: '--file-hosts <hosts>',
        text: 'other hosts for files of its jobs, e.g. cdn.example.com',
      },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).putProvider,
  },
  {
    name: 'operator providers trust',
    summary: 'Allow default routing to use a provider.',
    arguments: [{ name: '<id>', text: 'slug of the provider' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).trustProvider,
  },
  {
    name: 'operator providers distrust',
    summary: 'Stop default routing from using a provider.',
    arguments: [{ name: '<id>', text: 'slug of the provider' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).distrustProvider,
  },
  {
    name: 'operator providers remove',
    procedure: 'provider.remove',
    arguments: [{ name: '<id>', text: 'slug of the provider' }],
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
      { flags: '--wallet <address>', text: 'only this seller' },
      { flags: '--delisted', text: 'only offers that an operator delisted' },
      ...PAGE,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).searchOffers,
  },
  {
    name: 'operator delist',
    procedure: 'marketOffer.delist',
    arguments: [{ name: '<offer>', text: 'offer id (ofr_…)' }],
    options: [REASON],
    examples: ['operator delist ofr_… --reason "resold key"'],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).delistOffer,
  },
  {
    name: 'operator restore',
    procedure: 'marketOffer.restore',
    arguments: [{ name: '<offer>', text: 'offer id (ofr_…)' }],
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
    arguments: [{ name: '<title>', text: 'one line that describes the problem' }],
    options: [
      NOTE,
      ...TOUCHED,
      { flags: '--started-at <time>', text: 'start, e.g. 2026-11-21T00:00:00Z; default now' },
    ],
    examples: ['operator incidents declare "Slow answers" --models gpt-5-mini --note "Tripled times to first token."'],
    load: async () => (await import('#control-plane/cli/actions/operator-incidents.ts')).declareIncident,
  },
  {
    name: 'operator incidents update',
    procedure: 'incident.update',
    arguments: [{ name: '<incident>', text: 'incident id (inc_…)' }],
    options: [NOTE, ...TOUCHED, { flags: '--title <text>', text: 'new title' }],
    load: async () => (await import('#control-plane/cli/actions/operator-incidents.ts')).updateIncident,
  },
  {
    name: 'operator incidents end',
    procedure: 'incident.end',
    arguments: [{ name: '<incident>', text: 'incident id (inc_…)' }],
    options: [NOTE],
    load: async () => (await import('#control-plane/cli/actions/operator-incidents.ts')).endIncident,
  },
]
