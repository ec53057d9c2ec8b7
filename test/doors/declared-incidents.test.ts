import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { HOUR } from '#shared/clock.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let staff: ReturnType<TestMarket['trpc']>
let everybody: ReturnType<TestMarket['trpc']>

beforeAll(async () => {
  market = await startMarket()
  staff = market.trpc(await market.managementKey('operator'))
  everybody = market.trpc(undefined)
})
// The whole list is read, and an incident cannot be taken back.
beforeEach(async () => {
  await market.plane.db.deleteFrom('declared_incident_note').execute()
  await market.plane.db.deleteFrom('declared_incident').execute()
})
afterAll(() => market?.stop())

const first = async (filter: object = {}) => (await everybody.market.declaredIncidents.query(filter)).items[0]

describe('an incident that operators declare', () => {
  it('is shown to all callers, step by step, until its end', async () => {
    const startedAt = Date.now() - HOUR
    const wanted = { title: 'Slow answers', note: 'We look into it.', models: ['lab/GPT-test'], startedAt }
    const { id } = await staff.incident.declare.mutate(wanted)
    expect(await first()).toMatchObject({
      id,
      title: 'Slow answers',
      models: ['gpt-test'],
      providers: [],
      state: 'investigating',
      startedAt,
      endedAt: null,
      notes: [{ state: 'investigating', note: 'We look into it.' }],
    })
    await staff.incident.update.mutate({ id, note: 'A provider.', state: 'identified', providers: ['public'] })
    const ended = await staff.incident.end.mutate({ id, note: 'It is over.' })
    expect(ended).toMatchObject({ state: 'resolved', providers: ['public'], models: ['gpt-test'] })
    expect(ended.endedAt).toBeGreaterThan(startedAt)
    expect(ended.notes.map(({ state, note }) => [state, note])).toEqual([
      ['investigating', 'We look into it.'],
      ['identified', 'A provider.'],
      ['resolved', 'It is over.'],
    ])
    const query = '{ declaredIncidents(first: 5) { edges { node { id state endedAt notes { at state note } } } } }'
    const { state, endedAt, notes } = ended
    expect((await market.graphql(undefined, query)).body).toEqual({
      data: { declaredIncidents: { edges: [{ node: { id, state, endedAt, notes } }] } },
    })
    const { items } = await staff.auditLog.search.query({ subject: id })
    expect(items.map(({ operation }) => operation)).toEqual(['incident.end', 'incident.update', 'incident.declare'])
  })

  it('that has ended accepts no further note, nor does an unknown one', async () => {
    const { id } = await staff.incident.declare.mutate({ title: 'Short', note: 'Began.' })
    await staff.incident.end.mutate({ id, note: 'Ended.' })
    expect(await trpcCodeOf(staff.incident.update.mutate({ id, note: 'More.' }))).toBe('conflict')
    expect(await trpcCodeOf(staff.incident.end.mutate({ id, note: 'Again.' }))).toBe('conflict')
    expect(await trpcCodeOf(staff.incident.end.mutate({ id: 'inc_none', note: 'x' }))).toBe('not_found')
  })

  it('has at most twenty notes, of which the last is its end', async () => {
    const { id } = await staff.incident.declare.mutate({ title: 'Long', note: '1' })
    for (let number = 2; number < 20; number++) await staff.incident.update.mutate({ id, note: String(number) })
    expect(await trpcCodeOf(staff.incident.update.mutate({ id, note: '20' }))).toBe('conflict')
    expect((await staff.incident.end.mutate({ id, note: '20' })).notes).toHaveLength(20)
  })

  it('names existing models and providers, and a start that has passed', async () => {
    const declare = (changes: object) =>
      trpcCodeOf(staff.incident.declare.mutate({ title: 'Wrong', note: 'x', ...changes }))
    expect(await declare({ models: ['nothing'] })).toBe('not_found')
    expect(await declare({ providers: ['nothing'] })).toBe('not_found')
    expect(await declare({ startedAt: Date.now() + HOUR })).toBe('invalid_request')
    expect(await declare({ note: ' ' })).toBe('invalid_request')
    expect((await first())?.title).not.toBe('Wrong')
  })

  it('is listed by time, model, provider and page', async () => {
    for (const title of ['One', 'Two', 'Three']) await staff.incident.declare.mutate({ title, note: 'Began.' })
    const startedAt = Date.now() - 40 * 24 * HOUR
    const { id } = await staff.incident.declare.mutate({ title: 'Wide', note: 'x', providers: ['public'], startedAt })
    expect(await first()).toMatchObject({ id, models: [] })
    expect(await first({ provider: 'public', model: 'claude-test' })).toMatchObject({ id })
    expect((await first({ provider: 'other' }))?.id).not.toBe(id)
    expect((await first({ to: startedAt - 1 }))?.id).toBeUndefined()
    const page = await everybody.market.declaredIncidents.query({ maxItems: 1 })
    const rest = await everybody.market.declaredIncidents.query({ nextToken: page.nextToken ?? '' })
    expect([page.items.length, rest.items.length]).toEqual([1, 3])
    expect(await trpcCodeOf(everybody.market.declaredIncidents.query({ nextToken: 'mine' }))).toBe('invalid_request')
    expect(await trpcCodeOf(everybody.market.declaredIncidents.query({ model: 'nothing' }))).toBe('not_found')
  })
})
