import { createHash } from 'node:crypto'

/** Names of BullMQ queues, without BullMQ's own prefix. */
export const QUEUES = {
  usage: 'usage',
  health: 'health',
  maintenance: 'maintenance',
  webhooks: 'webhooks',
  mail: 'mail',
} as const

/** The Redis hash tag of an account's money keys. All keys of one bucket lie in one slot. */
export function moneyBucket(account: string, buckets: number): string {
  if (buckets === 1) return 'm00'
  const bucket = createHash('sha1').update(account).digest().readUInt32BE(0) % buckets
  return `m${bucket.toString().padStart(2, '0')}`
}

/** The names of all buckets. */
export function bucketNames(buckets: number): string[] {
  return Array.from({ length: buckets }, (_, index) => `m${index.toString().padStart(2, '0')}`)
}

/** Keys of the money path. Names of sets hold the epoch, so that a rebuild leaves the old sets behind. */
export const moneyKeys = {
  /** `E:join`, `E:register`, `E:count` or `E:open`. `:to:at` follows when the ledger went back, see LedgerRestore. */
  epoch: 'm:epoch',
  /** The newest beat of the ledger. A ledger with a lower one was restored. */
  beat: 'm:beat',
  /** Hash of member → Unix milliseconds at which it reported ready for the epoch. */
  ready: (epoch: number) => `m:ready:${epoch}`,
  /** Hash of data-plane process → Unix milliseconds of its last announcement; -1 after it signed off. */
  nodes: 'm:nodes',
  /** Hash of the processes with a recorded membership. Only they admit paid calls. */
  members: 'm:members',
  /** The epoch that a node no longer trusts. It asks for a rebuild. */
  doubt: 'm:doubt',
  /** List of accounts that wait to be seeded. */
  seedRequests: 'm:seed-requests',
  account: (bucket: string, account: string) => `{${bucket}}:a:${account}`,
  /**
   * The reason why an account's wallet can pay no more: `balance` or `allowance`. Only accounts that pay by wallet have
   * it.
   */
  walletBound: (bucket: string, account: string) => `{${bucket}}:w:${account}`,
  hold: (bucket: string, rid: string) => `{${bucket}}:h:${rid}`,
  /** Held and used amounts of a key in the current UTC day and month. money-scripts/uses.ts has the fields. */
  keyUse: (bucket: string, keyId: string) => `{${bucket}}:k:${keyId}`,
  /**
   * Held and used amounts of a budget in the current UTC month, in the fields of keyUse. The accounts of a member's
   * workspaces may be in several buckets, so all budgets are in the first one.
   */
  budget: (budget: string) => `{m00}:b:${budget}`,
  /** Hash of `day` and `month` → the UTC period and the cap that last refused a call of the key: `2026-11 5000000`. */
  keyFull: (bucket: string, keyId: string) => `{${bucket}}:f:${keyId}`,
  /** Hash of `month` → the UTC month and the limit of the budget that last refused a call. */
  budgetFull: (budget: string) => `{m00}:f:${budget}`,
  /** Open holds by deadline. */
  expiring: (bucket: string, epoch: number) => `{${bucket}}:z:exp:${epoch}`,
  /** The epoch that filled the bucket. It is missing on an emptied server. */
  filled: (bucket: string) => `{${bucket}}:epoch`,
  /** Unposted captures, by time. */
  unposted: (bucket: string, epoch: number) => `{${bucket}}:z:unack:${epoch}`,
  /** A long job: the terms of its sale, and its end once it is over. */
  job: (rid: string) => `job:${rid}`,
  /** The request ids of an account's long jobs of one kind, sorted, which is the order of time. */
  jobsOf: (kind: string, account: string) => `jobs:${kind}:${account}`,
  /** A job at a provider, by a hash of the provider's own id of it: see JobBinding in lent-offers.ts. */
  jobBinding: (resource: string, jobHash: string) => `job-binding:${resource}:${jobHash}`,
  /** A list of jobs that workers ended and whose files a data plane is to copy. Losing it is acceptable. */
  filesDue: 'jobs:files',
  /** Hash of `{rid} {mark}` → 1: buyers' changes to their jobs that the ledger does not know yet. */
  jobMarks: 'jobs:marks',
  /** The progress of a restore of jobs here, see JOBS_RESTORED. A new epoch resets it. It is lost with the jobs. */
  jobsRestored: 'jobs:restored',
  /** The amounts that calls took from an offer's daily cap. */
  offerCap: (offer: string) => `{${offer}}:cap`,
  /**
   * Each buyer's use of a lent key's daily cap on a UTC day: a hash of account or wallet → micro-USD. It lasts two
   * days, and bounds the share of one buyer.
   */
  offerBuyers: (offer: string, day: string) => `{${offer}}:buyers:${day}`,
} as const

/** Keys of the snapshot, the key store, health and limits. They may be on a second instance. */
export const cacheKeys = {
  /** Hash of document name → version. */
  snapshotIndex: 'snap:index',
  /** The whole answer of a wallet-paid call, so that a repeat of the payment gets it again. */
  paidAnswer: (rid: string) => `paid:${rid}`,
  document: (name: string) => `snap:doc:${name}`,
  account: (account: string) => `snap:account:${account}`,
  /** Hash of account → version of its document. */
  accountsIndex: 'snap:accounts',
  /** Rises with every change of an account's document. */
  accountsVersion: 'snap:accounts:version',
  /** Hash of key HMAC → key record. */
  keys: 'keys',
  /** Rises with every change of the key store. Absent until the store is filled. */
  keysVersion: 'keys:version',
  health: 'health',
  /** Hash of data-plane process → its report (node-report.ts). */
  nodeReports: 'node-reports',
  feed: 'feed',
  /** A call at a provider of the buyer's own (the data plane's own-calls.ts). */
  ownCall: (rid: string) => `own-call:${rid}`,
  rate: (scope: string, window: number) => `rate:${scope}:${window}`,
  /**
   * Demand that the rules of a lent key refused on a UTC day: a hash of `{rule}:calls` and `{rule}:micro` → a count and
   * the quotes in micro-USD. It lasts {@link REFUSALS_TTL_SECONDS}. Losing it is acceptable.
   */
  refusals: (offer: string, day: string) => `refusals:${offer}:${day}`,
} as const

/** Seconds that counts of refused demand last: longer than any range of analytics. */
export const REFUSALS_TTL_SECONDS = 35 * 86_400

/** Channels. Messages are JSON arrays of names. */
export const CHANNELS = {
  /** Changed snapshot documents, `account:{id}` among them. */
  snapshot: 'snap:changed',
  /** Hashes of changed keys. */
  keys: 'keys:changed',
  /** Ids of offers whose health changed on a node. */
  health: 'health:changed',
  /** A data-plane process and turns of its conversations (the data plane's shared-warmth.ts). */
  warmth: 'warmth',
  /** The feed of trades has new items. */
  feed: 'feed:changed',
  /** Accounts of buyers whose balance or held amount changed. */
  funds: 'funds:changed',
  /** Accounts of buyers whose long jobs ended. */
  jobs: 'jobs:changed',
  /** Ids of sellers' operations that made progress. */
  operations: 'operations:changed',
  /** Users who lost a session or a right. */
  sessions: 'sessions:changed',
  /** The state of the money epoch. */
  money: 'money:epoch',
} as const
