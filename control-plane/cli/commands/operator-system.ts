import type { Command, Option } from '#control-plane/cli/command.ts'
import { PAGE } from './buyer.ts'

const REASON: Option = { flags: '--reason <text>', text: 'why, for the audit' }
const YES: Option = { flags: '--yes', text: 'do not ask' }

/** Operators' commands for the running system. */
export const OPERATOR_SYSTEM_COMMANDS: readonly Command[] = [
  {
    name: 'operator features list',
    summary: 'Switches of both planes.',
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
    summary: 'Limits of calls.',
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
    summary: 'Give a limit back its standard.',
    arguments: [{ name: '<name>', text: 'the limit' }],
    load: async () => (await import('#control-plane/cli/actions/operator-market.ts')).resetLimit,
  },
  {
    name: 'operator holds list',
    summary: 'Money that running calls hold.',
    options: [
      { flags: '--account <id>', text: 'only of this account' },
      { flags: '--limit <count>', text: 'at most so many' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listHolds,
  },
  {
    name: 'operator holds release',
    summary: 'Give back what a call holds whose process is gone.',
    arguments: [{ name: '<request>', text: 'the request id' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).releaseHold,
  },
  {
    name: 'operator queues list',
    summary: 'Queues with their jobs.',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listQueues,
  },
  {
    name: 'operator queues failed',
    summary: 'Jobs that gave up.',
    arguments: [{ name: '<queue>', text: 'the queue' }],
    options: [{ flags: '--limit <count>', text: 'at most so many' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listFailedJobs,
  },
  {
    name: 'operator queues retry',
    summary: 'Run failed jobs again.',
    arguments: [{ name: '<queue>', text: 'the queue' }],
    options: [
      { flags: '--id <job>', text: 'only this one' },
      { flags: '--limit <count>', text: 'at most so many' },
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).retryJobs,
  },
  {
    name: 'operator nodes',
    summary: 'Data-plane processes.',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listNodes,
  },
  {
    name: 'operator snapshot show',
    summary: 'What is published: versions, sizes, ages.',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).showSnapshot,
  },
  {
    name: 'operator snapshot republish',
    summary: 'Publish again what differs, or the named documents.',
    arguments: [{ name: '[names...]', text: 'documents' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).republish,
  },
  {
    name: 'operator invariants',
    summary: 'What the checker of the ledger said last.',
    options: [{ flags: '--run', text: 'run it now' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).showInvariants,
  },
  {
    name: 'operator poison list',
    summary: 'Events that could not be posted.',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listPoison,
  },
  {
    name: 'operator poison read',
    summary: 'One such event, as it came.',
    arguments: [{ name: '<payload>', text: 'its hash' }],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).readPoison,
  },
  {
    name: 'operator poison retry',
    summary: 'Post an event again.',
    arguments: [{ name: '<payload>', text: 'its hash' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).retryPoison,
  },
  {
    name: 'operator poison discard',
    summary: 'Give an event up.',
    arguments: [{ name: '<payload>', text: 'its hash' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).discardPoison,
  },
  {
    name: 'operator conflicts list',
    summary: 'Events that contradict what is booked.',
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).listConflicts,
  },
  {
    name: 'operator conflicts resolve',
    summary: 'Note that a person has settled one.',
    arguments: [{ name: '<request>', text: 'its request id' }],
    options: [{ flags: '--payload <hash>', text: 'the hash of the event' }, REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-system.ts')).resolveConflict,
  },
  {
    name: 'operator audit',
    summary: 'Who did what to what, newest first.',
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
