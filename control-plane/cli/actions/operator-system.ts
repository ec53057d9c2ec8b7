import { bytes, dollars, duration, instant, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import type { MarketClient } from '#control-plane/cli/market-client.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import {
  argument,
  instantOption,
  isSet,
  requiredOption,
  textOption,
  wholeOption,
} from '#control-plane/cli/read-options.ts'

const LIMIT = { min: 1, max: 500 }

export const listNodes: Action = async ({ connection }) => {
  const nodes = await connection.as('operator', (client) => client.node.list.query())
  const now = Date.now()
  const rows = table(nodes, [
    { title: 'NODE', value: ({ node }) => node },
    { title: 'ALIVE', value: ({ isAlive }) => yesNo(isAlive) },
    { title: 'SEEN', value: ({ lastSeenAt }) => (lastSeenAt === null ? 'left' : duration(now - lastSeenAt)) },
    { title: 'MEMBER', value: ({ isMember }) => yesNo(isMember) },
    { title: 'EPOCH', alignsRight: true, value: ({ report }) => report?.openEpoch },
    { title: 'VERSION', value: ({ report }) => report?.version },
    { title: 'UP', value: ({ report }) => (report === null ? null : duration(now - report.startedAt)) },
    { title: 'MODELS', alignsRight: true, value: ({ report }) => report?.models },
    { title: 'OFFERS', alignsRight: true, value: ({ report }) => report?.offers },
  ])
  return { json: nodes, blocks: [rows] }
}

export const listHolds: Action = async ({ connection }, { options }) => {
  const account = textOption(options, 'account')
  const limit = wholeOption(options, 'limit', LIMIT)
  const holds = await connection.as('operator', (client) =>
    client.hold.list.query({ ...(account && { account }), ...(limit && { limit }) }),
  )
  const rows = table(
    holds,
    [
      { title: 'REQUEST', value: ({ rid }) => rid },
      { title: 'ACCOUNT', value: (hold) => hold.account },
      { title: 'HELD', alignsRight: true, value: ({ amountMicro }) => dollars(amountMicro) },
      { title: 'NODE', value: ({ node }) => node },
      { title: 'OPENED', value: ({ openedAt }) => instant(openedAt) },
      { title: 'ENDS', value: ({ expiresAt }) => instant(expiresAt) },
      { title: 'OVERDUE', value: ({ isOverdue }) => yesNo(isOverdue) },
    ],
    'No open holds.',
  )
  return { json: holds, blocks: [rows] }
}

export const releaseHold: Action = async (cli, given) => {
  const input = { rid: argument(given), reason: requiredOption(given.options, 'reason') }
  await confirm(cli, `Release the hold of ${input.rid}?`, isSet(given.options, 'yes'))
  const released = await cli.connection.as('operator', (client) => client.hold.release.mutate(input))
  return { json: released, blocks: [text(`The hold of ${released.rid} is released.`)] }
}

export const listQueues: Action = async ({ connection }) => {
  const queues = await connection.as('operator', (client) => client.queue.list.query())
  const rows = table(queues, [
    { title: 'QUEUE', value: ({ queue }) => queue },
    { title: 'WAITING', alignsRight: true, value: ({ waiting }) => waiting },
    { title: 'ACTIVE', alignsRight: true, value: ({ active }) => active },
    { title: 'DELAYED', alignsRight: true, value: ({ delayed }) => delayed },
    { title: 'FAILED', alignsRight: true, value: ({ failed }) => failed },
  ])
  return { json: queues, blocks: [rows] }
}

export const listFailedJobs: Action = async ({ connection }, given) => {
  const limit = wholeOption(given.options, 'limit', LIMIT)
  const jobs = await connection.as('operator', async (client) => {
    const queue = await knownQueue(client, argument(given))
    return client.queue.failed.query({ queue, ...(limit && { limit }) })
  })
  const rows = table(
    jobs,
    [
      { title: 'JOB', value: ({ id }) => id },
      { title: 'FAILED', value: ({ failedAt }) => instant(failedAt) },
      { title: 'TRIES', alignsRight: true, value: ({ attempts }) => attempts },
      { title: 'REASON', value: ({ reason }) => reason },
    ],
    'No failed jobs.',
  )
  return { json: jobs, blocks: [rows] }
}

export const retryJobs: Action = async ({ connection }, given) => {
  const id = textOption(given.options, 'id')
  const limit = wholeOption(given.options, 'limit', LIMIT)
  const done = await connection.as('operator', async (client) => {
    const queue = await knownQueue(client, argument(given))
    return client.queue.retry.mutate({ queue, ...(id && { id }), ...(limit && { limit }) })
  })
  return { json: done, blocks: [text(`${done.retried} jobs run again.`)] }
}

type QueueName = Parameters<MarketClient['queue']['failed']['query']>[0]['queue']

/** Finds a queue by its name in the service's list. */
async function knownQueue(client: MarketClient, name: string): Promise<QueueName> {
  const queues = await client.queue.list.query()
  if (!isQueue(queues, name)) throw usageError(`Known queues: ${queues.map(({ queue }) => queue).join(', ')}.`)
  return name
}

function isQueue(queues: readonly { readonly queue: string }[], name: string): name is QueueName {
  return queues.some(({ queue }) => queue === name)
}

export const showSnapshot: Action = async ({ connection }) => {
  const snapshot = await connection.as('operator', (client) => client.snapshot.read.query())
  const now = Date.now()
  const rows = table(snapshot.documents, [
    { title: 'DOCUMENT', value: ({ name }) => name },
    { title: 'VERSION', alignsRight: true, value: ({ version }) => version },
    { title: 'IN STORE', alignsRight: true, value: ({ versionInStore }) => versionInStore },
    { title: 'SIZE', alignsRight: true, value: (document) => bytes(document.bytes) },
    { title: 'AGE', alignsRight: true, value: ({ publishedAt }) => duration(now - publishedAt) },
    { title: 'CURRENT', value: ({ isCurrent }) => yesNo(isCurrent) },
  ])
  const { accounts, isWhole } = snapshot
  const head = facts({ whole: yesNo(isWhole), size: bytes(snapshot.bytes), 'documents of accounts': accounts })
  return { json: snapshot, blocks: [head, rows] }
}

export const republish: Action = async ({ connection }, { args }) => {
  const input = args.length === 0 ? {} : { names: [...args] }
  const done = await connection.as('operator', (client) => client.snapshot.republish.mutate(input))
  return { json: done, blocks: [text(`${done.published.length} documents published.`)] }
}

/** Shows the checker's findings. Anything but a clean run ends the command as a failure. */
export const showInvariants: Action = async ({ connection }, { options }) => {
  const { state, runs } = await connection.as('operator', async (client) => {
    const run = isSet(options, 'run') ? await client.invariants.run.mutate() : undefined
    const found = await client.invariants.read.query()
    return { state: found, runs: run === undefined ? found.runs : [run] }
  })
  const shown = table(
    runs,
    [
      { title: 'RUN', value: ({ startedAt }) => instant(startedAt) },
      { title: 'TOOK', alignsRight: true, value: ({ tookMs }) => duration(tookMs) },
      { title: 'BROKEN', value: ({ breaches }) => breaches.join(', ') || 'none' },
      { title: 'FAILURE', value: ({ failure }) => failure },
    ],
    'The checker has not run yet. Add --run to run it now.',
  )
  const waiting = facts({ differences: state.differences.length, 'payouts held': state.payoutHolds.length })
  const [latest] = runs
  const isWell = (latest?.breaches.length ?? 0) === 0 && (latest?.failure ?? null) === null
  const exit = isWell && state.differences.length === 0 ? 'ok' : 'failure'
  return {
    json: { runs, differences: state.differences, payoutHolds: state.payoutHolds },
    blocks: [shown, waiting],
    exit,
  }
}

export const listPoison: Action = async ({ connection }) => {
  const rows = await connection.as('operator', (client) => client.poison.list.query({}))
  const shown = table(
    rows,
    [
      { title: 'PAYLOAD', value: ({ payloadHash }) => payloadHash },
      { title: 'REQUEST', value: ({ rid }) => rid },
      { title: 'REASON', value: ({ reason }) => reason },
      { title: 'SEEN', value: ({ lastSeenAt }) => instant(lastSeenAt) },
    ],
    'No events set aside.',
  )
  return { json: rows, blocks: [shown] }
}

export const readPoison: Action = async ({ connection }, given) => {
  const found = await connection.as('operator', (client) => client.poison.read.query({ payloadHash: argument(given) }))
  return { json: found, blocks: [text(JSON.stringify(found, null, 2))] }
}

function decidePoison(decision: 'retry' | 'discard'): Action {
  return async (cli, given) => {
    const input = { payloadHash: argument(given), reason: requiredOption(given.options, 'reason') }
    if (decision === 'discard') {
      await confirm(cli, 'Discard the event? Its call stays free.', isSet(given.options, 'yes'))
    }
    const done = await cli.connection.as('operator', (client) => client.poison[decision].mutate(input))
    return { json: done, blocks: [text(decision === 'retry' ? 'The event is posted.' : 'The event is discarded.')] }
  }
}
export const retryPoison = decidePoison('retry')
export const discardPoison = decidePoison('discard')

export const listConflicts: Action = async ({ connection }) => {
  const rows = await connection.as('operator', (client) => client.conflict.list.query({}))
  const shown = table(
    rows,
    [
      { title: 'REQUEST', value: ({ rid }) => rid },
      { title: 'PAYLOAD', value: ({ payloadHash }) => payloadHash },
      { title: 'BOOKED', alignsRight: true, value: ({ settledChargeMicro }) => dollars(settledChargeMicro) },
      { title: 'SEEN', value: ({ seenAt }) => instant(seenAt) },
    ],
    'No conflicts.',
  )
  return { json: rows, blocks: [shown] }
}

export const resolveConflict: Action = async ({ connection }, given) => {
  const { options } = given
  const [payloadHash, reason] = [requiredOption(options, 'payload'), requiredOption(options, 'reason')]
  const done = await connection.as('operator', (client) =>
    client.conflict.resolve.mutate({ rid: argument(given), payloadHash, reason }),
  )
  return { json: done, blocks: [text('Resolved.')] }
}

export const searchAudit: Action = async ({ connection }, { options }) => {
  const [operation, subject, actor] = ['operation', 'subject', 'actor'].map((name) => textOption(options, name))
  const [since, until] = [instantOption(options, 'since'), instantOption(options, 'until')]
  const limit = wholeOption(options, 'limit', { min: 1, max: 100 })
  const nextToken = textOption(options, 'nextToken')
  const page = await connection.as('operator', (client) =>
    client.auditLog.search.query({
      ...(operation && { operation }),
      ...(subject && { subject }),
      ...(actor && { actor }),
      ...(since && { since }),
      ...(until && { until }),
      ...(limit && { limit }),
      ...(nextToken && { nextToken }),
    }),
  )
  const rows = table(page.items, [
    { title: 'WHEN', value: ({ at }) => instant(at) },
    { title: 'WHO', value: (entry) => entry.wallet ?? entry.actor },
    { title: 'DID', value: (entry) => entry.operation },
    { title: 'TO', value: (entry) => entry.subject },
    { title: 'BECAME', value: ({ after }) => (after == null ? null : JSON.stringify(after)) },
  ])
  const more = page.nextToken === null ? [] : [text(`More with --next-token ${page.nextToken}`)]
  return { json: page, blocks: [rows, ...more] }
}
