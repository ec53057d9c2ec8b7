import { LENT_RANGES, LENT_STATES } from '#control-plane/cli/choices.ts'
import type { CommandRow, Option } from '#control-plane/cli/command.ts'
import { PAGE } from './buyer.ts'

const YES: Option = { flags: '--yes', text: 'skip the confirmation' }
const REASON: Option = { flags: '--reason <text>', text: 'reason, for the audit log' }
const LENT = [{ name: '<id>', text: 'lent key id (ofr_…)' }]
const RESOURCE = [{ name: '<resource>', text: 'provider, e.g. provider-p2' }]
const KEY: readonly Option[] = [
  { flags: '--key-env <variable>', text: "environment variable with the provider's key" },
  { flags: '--key-from <file>', text: "file with the provider's key (mode 0600)" },
]
const TERMS: readonly Option[] = [
  { flags: '--discount <percent>', text: "whole percent off the provider's price, 5 to 80" },
  { flags: '--cap-daily <dollars>', text: 'daily cap (UTC), or none' },
  { flags: '--models <list>', text: 'allowed models, separated by commas, or none' },
  { flags: '--methods <list>', text: 'allowed methods of GET, POST and PUT, or none' },
  { flags: '--paths <list>', text: 'allowed paths, e.g. /v1/images or /v1/{rest+}, or none' },
  { flags: '--rate <calls>', text: 'calls per minute, or none' },
  { flags: '--buyer-share <percent>', text: 'maximum share of the daily cap for one buyer, or none' },
  { flags: '--label <text>', text: 'name that only you see' },
]

/** The commands of those who lend keys, and of operators for resources. */
export const LENT_COMMANDS: readonly CommandRow[] = [
  {
    name: 'lend',
    procedure: 'lentOffer.create',
    arguments: RESOURCE,
    options: [...KEY, ...TERMS, { flags: '--traits <list>', text: 'traits of the account that you declare' }, YES],
    examples: ['lend provider-p2 --key-env PROVIDER_KEY --discount 30 --cap-daily 25'],
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).lendKey,
  },
  {
    name: 'lent try',
    procedure: 'lentOffer.probe',
    arguments: RESOURCE,
    options: KEY,
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).tryKey,
  },
  {
    name: 'lent list',
    procedure: 'lentOffer.list',
    options: [
      { flags: '--status <status>', text: 'only these', choices: LENT_STATES },
      { flags: '--resource <resource>', text: 'only this provider' },
      ...PAGE,
    ],
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).listLent,
  },
  {
    name: 'lent show',
    procedure: 'lentOffer.get',
    arguments: LENT,
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).showLent,
  },
  {
    name: 'lent update',
    procedure: 'lentOffer.update',
    arguments: LENT,
    options: TERMS,
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).updateLent,
  },
  {
    name: 'lent pause',
    summary: 'Pause a lent key.',
    arguments: LENT,
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).pauseLent,
  },
  {
    name: 'lent activate',
    summary: 'Activate a paused key.',
    arguments: LENT,
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).activateLent,
  },
  {
    name: 'lent remove',
    procedure: 'lentOffer.delete',
    arguments: LENT,
    options: [YES],
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).removeLent,
  },
  {
    name: 'lent purge',
    procedure: 'lentOffer.purge',
    arguments: LENT,
    options: [YES],
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).purgeLent,
  },
  {
    name: 'lent remove-all',
    procedure: 'lentOffer.deleteAll',
    options: [YES],
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).removeAllLent,
  },
  {
    name: 'lent earnings',
    procedure: 'lentOffer.analytics',
    options: [{ flags: '--range <range>', text: 'period to show', choices: LENT_RANGES }],
    load: async () => (await import('#control-plane/cli/actions/lent-keys.ts')).showLentEarnings,
  },
  {
    name: 'operator resources list',
    procedure: 'resource.list',
    load: async () => (await import('#control-plane/cli/actions/operator-resources.ts')).listResources,
  },
  {
    name: 'operator resources put',
    summary: 'Show the changes of a record, then store it as the next version.',
    arguments: [{ name: '<file>', text: 'file with the record in JSON' }],
    options: [
      { flags: '--source <text>', text: 'source of the values, kept with the version' },
      { flags: '--dry-run', text: 'show the changes, store nothing' },
      YES,
    ],
    examples: ['operator resources put provider-x4.json --source price-list-2026-12'],
    load: async () => (await import('#control-plane/cli/actions/operator-resources.ts')).putResource,
  },
  {
    name: 'operator resources history',
    procedure: 'resource.history',
    arguments: RESOURCE,
    load: async () => (await import('#control-plane/cli/actions/operator-resources.ts')).showResourceHistory,
  },
  {
    name: 'operator resources block',
    procedure: 'lentOffer.block',
    arguments: LENT,
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-resources.ts')).blockLent,
  },
  {
    name: 'operator resources unblock',
    procedure: 'lentOffer.restore',
    arguments: LENT,
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-resources.ts')).restoreLent,
  },
]
