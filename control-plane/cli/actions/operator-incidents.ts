import { instant } from '#control-plane/cli/amounts.ts'
import type { Action, CommandOptions } from '#control-plane/cli/command.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import {
  argument,
  instantOption,
  listOption,
  requiredOption,
  textOption,
  wholeOption,
} from '#control-plane/cli/read-options.ts'

const OPEN_STATES = ['investigating', 'identified', 'monitoring'] as const

type Incident = {
  readonly id: string
  readonly title: string
  readonly models: readonly string[]
  readonly providers: readonly string[]
  readonly state: string
  readonly startedAt: number
  readonly endedAt: number | null
  readonly notes: readonly { readonly at: number; readonly state: string; readonly note: string }[]
}

function show(incident: Incident) {
  const { id, title, state, notes } = incident
  const from = instant(incident.startedAt)
  const lines = table(notes, [
    { title: 'SAID', value: ({ at }) => instant(at) },
    { title: 'STATE', value: (update) => update.state },
    { title: 'NOTE', value: ({ note }) => note },
  ])
  const about = facts({
    incident: id,
    title,
    state,
    touches: touchedOf(incident),
    from,
    until: instant(incident.endedAt),
  })
  return { json: incident, blocks: [about, lines] }
}

function touchedOf({ models, providers }: Incident): string {
  return [...models, ...providers].join(', ') || 'the whole market'
}

/** The given facts of an incident. All of them may be changed at any time. */
function factsOf(options: CommandOptions) {
  const [models, providers] = [listOption(options, 'models'), listOption(options, 'providers')]
  const state = OPEN_STATES.find((known) => known === textOption(options, 'state'))
  return { ...(models && { models }), ...(providers && { providers }), ...(state && { state }) }
}

export const listIncidents: Action = async ({ connection }, { options }) => {
  const limit = wholeOption(options, 'limit', { min: 1, max: 100 })
  const nextToken = textOption(options, 'nextToken')
  const page = await connection.as('operator', (client) =>
    client.market.declaredIncidents.query({ ...(limit && { maxItems: limit }), ...(nextToken && { nextToken }) }),
  )
  const rows = table(
    page.items,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'FROM', value: ({ startedAt }) => instant(startedAt) },
      { title: 'UNTIL', value: ({ endedAt }) => instant(endedAt) },
      { title: 'STATE', value: ({ state }) => state },
      { title: 'TITLE', value: ({ title }) => title },
      { title: 'TOUCHES', value: touchedOf },
    ],
    'No incidents in the last seven days.',
  )
  const more = page.nextToken === null ? [] : [text(`More with --next-token ${page.nextToken}`)]
  return { json: page, blocks: [rows, ...more] }
}

export const declareIncident: Action = async ({ connection }, given) => {
  const startedAt = instantOption(given.options, 'startedAt')
  const input = { title: argument(given), note: requiredOption(given.options, 'note'), ...factsOf(given.options) }
  return show(
    await connection.as('operator', (client) =>
      client.incident.declare.mutate({ ...input, ...(startedAt !== undefined && { startedAt }) }),
    ),
  )
}

export const updateIncident: Action = async ({ connection }, given) => {
  const title = textOption(given.options, 'title')
  const input = { id: argument(given), note: requiredOption(given.options, 'note'), ...factsOf(given.options) }
  return show(
    await connection.as('operator', (client) => client.incident.update.mutate({ ...input, ...(title && { title }) })),
  )
}

export const endIncident: Action = async ({ connection }, given) => {
  const input = { id: argument(given), note: requiredOption(given.options, 'note') }
  return show(await connection.as('operator', (client) => client.incident.end.mutate(input)))
}
