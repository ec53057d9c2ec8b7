import { isRecord } from '#shared/json-members.ts'
import type { Json } from './json-schema.ts'

/** The object that the `id` of a path names, by the segment before it. */
const OBJECTS: Readonly<Record<string, string>> = {
  configs: 'saved provider key',
  deposits: 'deposit',
  generations: 'job',
  jobs: 'job, or of its submit',
  keys: 'key',
  offers: 'offer',
  operations: 'operation',
  payouts: 'payout',
  providers: 'provider key',
  requests: 'call: its `x-request-id`',
  videos: 'video',
  webhooks: 'webhook',
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  actor: 'Only changes by this key, wallet or process.',
  address: 'The address of the wallet.',
  after_id: 'The last id of the page before this one.',
  available: '`true` lists only models that an offer serves now.',
  before: 'Only calls before this one, by its id.',
  before_id: 'The first id of the page after this one.',
  cursor: 'The cursor of the page before.',
  date: 'One day, in UTC.',
  endpoint: 'Only calls of this path.',
  format: 'The format of the file.',
  from: 'The first instant that counts: Unix milliseconds, an ISO date or an ISO time.',
  group_by: 'The property by which each bucket is split.',
  index: 'The place of the file in its job, from 0.',
  interval: 'The length of a bucket.',
  invitation: 'The id of the invitation.',
  author: 'The maker of a model.',
  slug: 'The id of a model, without its maker.',
  jobId: 'The id of the job that made the file.',
  key: 'The id of the key.',
  key_id: 'Only calls by this key.',
  limit: 'The greatest number of items in the answer.',
  max_items: 'The greatest number of items in a page.',
  link: 'The id of the invite link.',
  member: 'The id of the member.',
  method: 'Only lent keys that take this method.',
  month: 'A month in UTC: `2026-11`.',
  min_discount_pct: 'Only lent keys with at least this discount, in per cent.',
  model: 'The id of a model.',
  network: 'The name of the chain.',
  next_token: 'The `next_token` of the page before.',
  offer_id: 'Only lines of this offer.',
  offset: 'The number of models to leave out at the start.',
  operation: 'Only changes by this operation.',
  order: 'The order of the list, by the time of making.',
  organization: 'The id of the organization.',
  outcome: 'Only calls with this outcome.',
  passkey: 'The id of the passkey.',
  email: 'The id of the e-mail address.',
  webhook: 'The id of the webhook.',
  period: 'The length of the period that ends now.',
  provider: 'The id of a provider.',
  query: 'The words to search for.',
  range: 'The length of the period that ends now.',
  resource: 'The id of the resource.',
  resource_type: 'Only lent keys of this type.',
  rest: 'The path at the provider.',
  served_by: 'Only calls that this kind of key served.',
  since: 'The first instant that counts: Unix milliseconds, an ISO date or an ISO time.',
  sort: 'The order of the list: the newest or the largest first. Of offers by latency, the lowest first.',
  is_period_before: '`true` sums the period of the same length just before.',
  top: 'The number of groups with buckets of their own, those that cost most. All others are summed in one bucket of each interval. 1 to 100, with `group_by`.',
  is_reversed: '`true` reverses the order.',
  window: 'The time that the figures are of: `24h` or `7d`, by whole hours.',
  screen: 'Only views of this screen.',
  sort_order: 'The order of the list, by time.',
  state: 'Only jobs in this state.',
  status: 'Only offers in this state.',
  subject: 'Only changes of the object with this id.',
  to: 'The end of the period: Unix milliseconds, an ISO date or an ISO time.',
  token: 'The token of a link.',
  transaction: 'Only the calls that this transaction paid for, by its hash.',
  until: 'The end of the period: Unix milliseconds, an ISO date or an ISO time.',
  username: 'The name of the user at the service.',
  variant: 'The file of the video to load.',
  view: 'The id of the view.',
  workspace: 'The id of the workspace.',
  workspace_id: 'The workspace that owns the account, by its id.',
}

/**
 * The text of a parameter. A name means the same on every path, so one table has the texts. Throws for a name without a
 * text.
 */
export function describeParameter(path: string, name: string): string {
  const described = DESCRIPTIONS[name] ?? (name === 'id' ? describeId(path) : undefined)
  if (described === undefined) throw new Error(`the parameter ${name} of ${path} is not described`)
  return described
}

/** The schema and the text of a query's member. A text in the schema comes first, and is used once. */
export function describedQuery(path: string, name: string, part: unknown): Json {
  const { description, ...schema } = isRecord(part) ? part : {}
  return { description: description ?? describeParameter(path, name), schema }
}

function describeId(path: string): string | undefined {
  const [, before = ''] = /([^/]+)\/[:{]id\b/.exec(path) ?? []
  if (before === 'model' || before === 'models') return 'The id of the model, or an alias.'
  const object = OBJECTS[before]
  return object === undefined ? undefined : `The id of the ${object}.`
}
