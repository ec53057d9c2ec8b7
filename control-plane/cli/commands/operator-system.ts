import type { CommandRow, Option } from '#control-plane/cli/command.ts'
import { PAGE } from './buyer.ts'

const REASON: Option = { flags: '--reason <text>', text: 'why, for the audit' }
const YES: Option = { flags: '--yes', text: 'do not ask' }

/** Operators' commands for the running system. */
export const OPERATOR_SYSTEM_COMMANDS: readonly CommandRow[] = [
  {
    name: 'operator features list',
    procedure: 'feature.list',
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).listFeatures,
  },
  {
    name: 'operator features on',
    summary: 'Turn a switch on.',
    arguments: [{ name: '<name>', text: 'the switch' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).turnOn,
  },
  {
    name: 'operator features off',
    summary: 'Turn a switch off.',
    arguments: [{ name: '<name>', text: 'the switch' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).turnOff,
  },
  {
    name: 'operator limits list',
    procedure: 'rateLimit.list',
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).listLimits,
  },
  {
    name: 'operator limits set',
    summary: 'Set a limit of calls.',
    arguments: [{ name: '<name>', text: 'the limit' }],
    options: [
      { flags: '--per-key <calls>', text: 'calls a minute of a key, or calls at once' },
      { flags: '--per-wallet <calls>', text: 'calls a minute over all keys of a wallet' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).setLimit,
  },
  {
    name: 'operator limits reset',
    summary: 'Restore the default of a limit.',
    arguments: [{ name: '<name>', text: 'the limit' }],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).resetLimit,
  },
  {
    name: 'operator holds list',
    procedure: 'hold.list',
    options: [
      { flags: '--account <id>', text: 'only of this account' },
      { flags: '--limit <count>', text: 'at most so many' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listHolds,
  },
  {
    name: 'operator holds release',
    procedure: 'hold.release',
    arguments: [{ name: '<request>', text: 'the request id' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).releaseHold,
  },
  {
    name: 'operator queues list',
    procedure: 'queue.list',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listQueues,
  },
  {
    name: 'operator queues failed',
    procedure: 'queue.failed',
    arguments: [{ name: '<queue>', text: 'the queue' }],
    options: [{ flags: '--limit <count>', text: 'at most so many' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listFailedJobs,
  },
  {
    name: 'operator queues retry',
    procedure: 'queue.retry',
    arguments: [{ name: '<queue>', text: 'the queue' }],
    options: [
      { flags: '--id <job>', text: 'only this one' },
      { flags: '--limit <count>', text: 'at most so many' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).retryJobs,
  },
  {
    name: 'operator nodes',
    procedure: 'node.list',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listNodes,
  },
  {
    name: 'operator snapshot show',
    procedure: 'snapshot.read',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).showSnapshot,
  },
  {
    name: 'operator snapshot republish',
    procedure: 'snapshot.republish',
    arguments: [{ name: '[names...]', text: 'documents' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).republish,
  },
  {
    name: 'operator invariants',
    procedure: 'invariants.read',
    options: [{ flags: '--run', text: 'run it now' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).showInvariants,
  },
  {
    name: 'operator poison list',
    procedure: 'poison.list',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listPoison,
  },
  {
    name: 'operator poison read',
    procedure: 'poison.read',
    arguments: [{ name: '<payload>', text: 'its hash' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).readPoison,
  },
  {
    name: 'operator poison retry',
    procedure: 'poison.retry',
    arguments: [{ name: '<payload>', text: 'its hash' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).retryPoison,
  },
  {
    name: 'operator poison discard',
    procedure: 'poison.discard',
    arguments: [{ name: '<payload>', text: 'its hash' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).discardPoison,
  },
  {
    name: 'operator conflicts list',
    procedure: 'conflict.list',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listConflicts,
  },
  {
    name: 'operator conflicts resolve',
    procedure: 'conflict.resolve',
    arguments: [{ name: '<request>', text: 'its request id' }],
    options: [{ flags: '--payload <hash>', text: 'the hash of the event' }, REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).resolveConflict,
  },
  {
    name: 'operator audit',
    procedure: 'auditLog.search',
    options: [
      { flags: '--operation <name>', text: 'only this, as offer.delist' },
      { flags: '--subject <id>', text: 'only what was done to this' },
      { flags: '--actor <id>', text: 'only by this user or key' },
      { flags: '--since <time>', text: 'from then on, as 2026-11-21T00:00:00Z' },
      { flags: '--until <time>', text: 'before then' },
      ...PAGE,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).searchAudit,
  },
]
