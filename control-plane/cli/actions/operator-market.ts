import { instant, percent, yesNo } from '#control-plane/cli/amounts.ts'
import type { Action, CommandOptions } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import {
  argument,
  isSet,
  listOption,
  requiredOption,
  textOption,
  wholeOption,
} from '#control-plane/cli/read-options.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'

const STATUSES = ['active', 'paused', 'inactive'] as const

export const searchOffers: Action = async ({ connection }, { options }) => {
  const [model, provider, wallet] = ['model', 'provider', 'wallet'].map((name) => textOption(options, name))
  const status = STATUSES.find((known) => known === textOption(options, 'status'))
  const limit = wholeOption(options, 'limit', { min: 1, max: 100 })
  const nextToken = textOption(options, 'nextToken')
  const page = await connection.as('operator', (client) =>
    client.marketOffer.search.query({
      ...(model && { model }),
      ...(provider && { provider }),
      ...(wallet && { wallet }),
      ...(status && { status }),
      ...(isSet(options, 'delisted') ? { isDelisted: true } : {}),
      ...(limit && { limit }),
      ...(nextToken && { nextToken }),
    }),
  )
  const rows = table(page.items, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'MODEL', value: (offer) => offer.model },
    { title: 'PROVIDER', value: (offer) => offer.provider },
    { title: 'SELLER', value: (offer) => offer.wallet },
    { title: 'STATUS', value: (offer) => (offer.delistedReason === null ? offer.status : 'delisted') },
    { title: 'OFF', alignsRight: true, value: ({ discountPct }) => percent(discountPct) },
    { title: 'CALLS 24H', alignsRight: true, value: ({ calls }) => calls },
    { title: 'FAILED', alignsRight: true, value: ({ failures }) => failures },
    { title: 'TRUSTED', value: ({ isTrusted }) => yesNo(isTrusted) },
    { title: 'REASON', value: ({ delistedReason }) => delistedReason },
  ])
  const more = page.nextToken === null ? [] : [text(`More with --next-token ${page.nextToken}`)]
  return { json: page, blocks: [rows, ...more] }
}

export const delistOffer: Action = async ({ connection }, given) => {
  const input = { id: argument(given), reason: requiredOption(given.options, 'reason') }
  const offer = await connection.as('operator', (client) => client.marketOffer.delist.mutate(input))
  return { json: offer, blocks: [text(`${input.id} is off the market; its seller reads: ${input.reason}`)] }
}

export const restoreOffer: Action = async ({ connection }, given) => {
  const input = { id: argument(given), reason: requiredOption(given.options, 'reason') }
  const offer = await connection.as('operator', (client) => client.marketOffer.restore.mutate(input))
  return { json: offer, blocks: [text(`${input.id} is ${offer.status}: its seller may put it on sale again.`)] }
}

export const listProviders: Action = async ({ connection }) => {
  const providers = await connection.as('operator', (client) => client.provider.list.query())
  const rows = table(providers, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'ADDRESS', value: ({ baseUrl }) => baseUrl },
    { title: 'OTHER HOSTS', value: ({ hosts }) => hosts.join(' ') },
    { title: 'TRUSTED', value: ({ isTrusted }) => yesNo(isTrusted) },
    { title: 'ENDPOINTS', value: ({ endpoints }) => endpoints?.join(',') ?? 'all' },
    { title: 'OFFERS', alignsRight: true, value: ({ activeOffers }) => activeOffers },
  ])
  return { json: providers, blocks: [rows] }
}

export const putProvider: Action = async ({ connection }, given) => {
  const { options } = given
  const id = argument(given)
  const costReferenceUrl = textOption(options, 'costReference')
  const endpoints = endpointsOption(options)
  const basePaths = listOption(options, 'basePaths')
  const hosts = listOption(options, 'hosts')
  const fileHosts = listOption(options, 'fileHosts')
  const put = await connection.as('operator', (client) =>
    client.provider.put.mutate({
      id,
      name: textOption(options, 'name') ?? id,
      baseUrl: requiredOption(options, 'baseUrl'),
      isTrusted: isSet(options, 'trusted'),
      ...(costReferenceUrl && { costReferenceUrl }),
      ...(endpoints && { endpoints }),
      ...(hosts && { hosts: [...hosts] }),
      ...(basePaths && { basePaths: [...basePaths] }),
      ...(fileHosts && { fileHosts: [...fileHosts] }),
    }),
  )
  return { json: put, blocks: [facts({ id: put.id, address: put.baseUrl, trusted: yesNo(put.isTrusted) })] }
}

function endpointsOption(options: CommandOptions): Endpoint[] | undefined {
  return listOption(options, 'endpoints')?.map((name) => {
    const endpoint = ENDPOINTS.find((known) => known === name)
    if (endpoint === undefined) throw usageError(`--endpoints takes ${ENDPOINTS.join(', ')}.`)
    return endpoint
  })
}

function trust(isTrusted: boolean): Action {
  return async ({ connection }, given) => {
    const input = { id: argument(given), isTrusted, reason: requiredOption(given.options, 'reason') }
    const provider = await connection.as('operator', (client) => client.provider.trust.mutate(input))
    return { json: provider, blocks: [facts({ id: provider.id, trusted: yesNo(provider.isTrusted) })] }
  }
}
export const trustProvider = trust(true)
export const distrustProvider = trust(false)

export const removeProvider: Action = async (cli, given) => {
  const input = { id: argument(given), reason: requiredOption(given.options, 'reason') }
  await confirm(cli, `Remove ${input.id} from the allow-list?`, isSet(given.options, 'yes'))
  const gone = await cli.connection.as('operator', (client) => client.provider.remove.mutate(input))
  return { json: gone, blocks: [text(`${gone.id} is off the allow-list.`)] }
}

export const listFeatures: Action = async ({ connection }) => {
  const features = await connection.as('operator', (client) => client.feature.list.query())
  const rows = table(features, [
    { title: 'SWITCH', value: ({ name }) => name },
    { title: 'STATE', value: ({ isOn }) => (isOn ? 'on' : 'off') },
    { title: 'WHEN ON', value: ({ meaning }) => meaning },
    { title: 'CHANGED', value: ({ changedAt }) => instant(changedAt) },
    { title: 'REASON', value: ({ reason }) => reason },
  ])
  return { json: features, blocks: [rows] }
}

function turn(isOn: boolean): Action {
  return async ({ connection }, given) => {
    const reason = requiredOption(given.options, 'reason')
    const feature = await connection.as('operator', async (client) => {
      const known = (await client.feature.list.query()).find(({ name }) => name === argument(given))
      if (known === undefined) throw usageError(`No switch is called ${argument(given)}.`)
      return client.feature.put.mutate({ name: known.name, isOn, reason })
    })
    return { json: feature, blocks: [text(`${feature.name} is ${feature.isOn ? 'on' : 'off'}.`)] }
  }
}
export const turnOn = turn(true)
export const turnOff = turn(false)

export const listLimits: Action = async ({ connection }) => {
  const limits = await connection.as('operator', (client) => client.rateLimit.list.query())
  const rows = table(limits, [
    { title: 'LIMIT', value: ({ name }) => name },
    { title: 'PLANE', value: ({ plane }) => plane },
    { title: 'A KEY', alignsRight: true, value: ({ perKey }) => perKey },
    { title: 'A WALLET', alignsRight: true, value: ({ perWallet }) => perWallet },
    { title: 'SET BY', value: ({ isStandard, changedBy }) => (isStandard ? 'standard' : changedBy) },
  ])
  return { json: limits, blocks: [rows] }
}

const CALLS = { min: 1, max: 1_000_000 }

export const setLimit: Action = async ({ connection }, given) => {
  const perKey = wholeOption(given.options, 'perKey', CALLS)
  if (perKey === undefined) throw usageError('--per-key is needed.')
  const perWallet = wholeOption(given.options, 'perWallet', CALLS)
  const name = argument(given)
  const limit = await connection.as('operator', (client) =>
    client.rateLimit.put.mutate({ name, perKey, ...(perWallet === undefined ? {} : { perWallet }) }),
  )
  return { json: limit, blocks: [facts({ limit: limit.name, 'a key': limit.perKey, 'a wallet': limit.perWallet })] }
}

export const resetLimit: Action = async ({ connection }, given) => {
  const input = { name: argument(given), perKey: null }
  const limit = await connection.as('operator', (client) => client.rateLimit.put.mutate(input))
  return { json: limit, blocks: [facts({ limit: limit.name, 'a key': limit.perKey, 'a wallet': limit.perWallet })] }
}
