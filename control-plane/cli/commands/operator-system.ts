import type { CommandRow, Option } from '#control-plane/cli/command.ts'
import { PAGE } from './buyer.ts'

const REASON: Option = { flags: '--reason <text>', text: 'reason, for the audit log' }
const YES: Option = { flags: '--yes', text: 'skip the confirmation' }

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
    arguments: [{ name: '<name>', text: 'name of the switch' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).turnOn,
  },
  {
    name: 'operator features off',
    summary: 'Turn a switch off.',
    arguments: [{ name: '<name>', text: 'name of the switch' }],
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
    arguments: [{ name: '<name>', text: 'name of the limit' }],
    options: [
      { flags: '--per-key <calls>', text: 'calls per minute of a key, or calls in flight' },
      { flags: '--per-wallet <calls>', text: 'calls per minute over all keys of a wallet' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).setLimit,
  },
  {
    name: 'operator limits reset',
    summary: 'Restore the default of a limit.',
    arguments: [{ name: '<name>', text: 'name of the limit' }],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).resetLimit,
  },
  {
    name: 'operator holds list',
    procedure: 'hold.list',
    options: [
      { flags: '--account <id>', text: 'only this account' },
      { flags: '--limit <count>', text: 'maximum number of rows' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listHolds,
  },
  {
    name: 'operator holds release',
    procedure: 'hold.release',
    arguments: [{ name: '<request>', text: 'request id' }],
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
    arguments: [{ name: '<queue>', text: 'name of the queue' }],
    options: [{ flags: '--limit <count>', text: 'maximum number of rows' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listFailedJobs,
  },
  {
    name: 'operator queues retry',
    procedure: 'queue.retry',
    arguments: [{ name: '<queue>', text: 'name of the queue' }],
    options: [
      { flags: '--id <job>', text: 'only this job' },
      { flags: '--limit <count>', text: 'maximum number of rows' },
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
    arguments: [{ name: '[names...]', text: 'names of documents; leave out for all that differ' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).republish,
  },
  {
    name: 'operator invariants',
    procedure: 'invariants.read',
    options: [{ flags: '--run', text: 'run the checker now' }],
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
    arguments: [{ name: '<payload>', text: 'hash of the event' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).readPoison,
  },
  {
    name: 'operator poison retry',
    procedure: 'poison.retry',
    arguments: [{ name: '<payload>', text: 'hash of the event' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).retryPoison,
  },
  {
    name: 'operator poison discard',
    procedure: 'poison.discard',
    arguments: [{ name: '<payload>', text: 'hash of the event' }],
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
    arguments: [{ name: '<request>', text: 'request id' }],
    options: [{ flags: '--payload <hash>', text: 'hash of the event' }, REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).resolveConflict,
  },
  {
    name: 'operator audit',
    procedure: 'auditLog.search',
    options: [
      { flags: '--operation <name>', text: 'only this operation, e.g. offer.delist' },
      { flags: '--subject <id>', text: 'only changes of this record' },
      { flags: '--actor <id>', text: 'only changes by this user or key' },
      { flags: '--since <time>', text: 'start, e.g. 2026-11-21T00:00:00Z' },
      { flags: '--until <time>', text: 'end, not included' },
      ...PAGE,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).searchAudit,
  },
]
