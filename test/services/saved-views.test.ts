import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SessionActor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import {
  changeSavedView,
  createSavedView,
  listOwnSavedViews,
  removeSavedView,
} from '#control-plane/services/users/saved-views.ts'
import type { AppError } from '#shared/errors.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { createTeams } from '#test/support/doors/team.ts'

let market: TestMarket
let ada: SessionActor
let bob: SessionActor

beforeAll(async () => {
  market = await startMarket()
  const { somebody } = createTeams(market)
  ;[ada, bob] = [await somebody(), await somebody()]
})
afterAll(() => market?.stop())

type Screen = 'models' | 'logs' | 'activity' | 'jobs' | 'offers'
const save = (actor: SessionActor, name: string, query: string, screen: Screen = 'logs') =>
  invoke(market.plane, actor, createSavedView, { screen, name, query })
const change = (actor: SessionActor, view: string, input: { name?: string; query?: string }) =>
  invoke(market.plane, actor, changeSavedView, { view, ...input })
const remove = (actor: SessionActor, view: string) => invoke(market.plane, actor, removeSavedView, { view })
const namesOf = async (actor: SessionActor, screen?: Screen) =>
  (await invoke(market.plane, actor, listOwnSavedViews, { screen })).views.map(({ name }) => name)
const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => ({ code: 'accepted', message: '' }),
    ({ code, message }: AppError) => ({ code: String(code), message }),
  )

describe('saved views', () => {
  it('keep the filters of a screen under a name, which changes and goes', async () => {
    const who = await createTeams(market).somebody()
    const made = await save(who, ' Failed calls ', 'outcome=failed&period=7d&model=')
    expect(made).toMatchObject({ screen: 'logs', name: 'Failed calls', query: 'outcome=failed&period=7d' })
    await save(who, 'All', 'period=30d')
    await save(who, 'Cheap', 'sort=price', 'models')
    expect(await namesOf(who)).toEqual(['All', 'Cheap', 'Failed calls'])
    expect(await namesOf(who, 'logs')).toEqual(['All', 'Failed calls'])
    expect(await change(who, made.id, { name: 'Failed' })).toMatchObject({ name: 'Failed', query: made.query })
    expect(await change(who, made.id, { query: 'outcome=cut' })).toMatchObject({ name: 'Failed', query: 'outcome=cut' })
    expect(await remove(who, made.id)).toMatchObject({ name: 'Failed' })
    expect(await namesOf(who, 'logs')).toEqual(['All'])
    expect(await refusalOf(remove(who, made.id))).toMatchObject({ code: 'not_found' })
  })

  it('belong to one person: no other person reads, changes or deletes them', async () => {
    const { id } = await save(ada, 'Of Ada', 'period=7d')
    expect(await namesOf(bob)).toEqual([])
    expect(await refusalOf(change(bob, id, { name: 'Taken' }))).toMatchObject({ code: 'not_found' })
    expect(await refusalOf(remove(bob, id))).toMatchObject({ code: 'not_found' })
    expect(await save(bob, 'Of Ada', 'period=7d')).toMatchObject({ name: 'Of Ada' })
    expect(await namesOf(ada)).toEqual(['Of Ada'])
  })

  it('have one name on a screen', async () => {
    const who = await createTeams(market).somebody()
    await save(who, 'First', 'period=7d')
    const second = await save(who, 'Second', 'period=7d')
    const taken = { code: 'conflict', message: 'You have a view named First here. Choose another name.' }
    expect(await refusalOf(save(who, 'First', 'period=24h'))).toEqual(taken)
    expect(await refusalOf(change(who, second.id, { name: 'First' }))).toEqual(taken)
    expect(await change(who, second.id, { name: 'Second' })).toMatchObject({ name: 'Second' })
    expect(await save(who, 'First', 'sort=price', 'models')).toMatchObject({ name: 'First' })
    const both = await Promise.all([1, 2].map(() => refusalOf(save(who, 'At once', 'period=7d'))))
    expect(both.map(({ code }) => code).sort()).toEqual(['accepted', 'conflict'])
  })

  it.each([
    ['an unknown filter', 'logs', 'period=7d&to_page=https%3A%2F%2Felsewhere.example'],
    ['a filter of another screen', 'logs', 'discount=20'],
    ['a page of the list', 'logs', 'period=7d&after=abc'],
    ['an open call', 'logs', 'call=01K00000000000000000000000'],
    ['an address', 'models', 'https://elsewhere.example/?search=x'],
    ['a path', 'models', '/operator?search=x'],
    ['a filter twice', 'logs', 'period=7d&period=30d'],
    ['no filter', 'logs', ''],
    ['blank filters', 'logs', 'model=&period='],
    ['a long value', 'logs', `model=${'x'.repeat(301)}`],
    ['a value of two lines', 'logs', 'model=a%0Ab'],
    ['a long query', 'logs', `model=${'x'.repeat(300)}&provider=${'%C3%A9'.repeat(150)}`],
  ] as const)('refuse a query with %s', async (_what, screen, query) => {
    expect(await refusalOf(save(ada, 'Refused', query, screen))).toMatchObject({ code: 'invalid_request' })
    const { id } = await save(ada, `${_what} before`, screen === 'logs' ? 'period=7d' : 'sort=price', screen)
    expect(await refusalOf(change(ada, id, { query }))).toMatchObject({ code: 'invalid_request' })
    expect(await namesOf(ada)).not.toContain('Refused')
  })

  it('are at most 100 of an account', async () => {
    const who = await createTeams(market).somebody()
    const made = []
    for (let at = 0; at < 100; at += 1) made.push(await save(who, `View ${at}`, 'period=7d'))
    const full = { code: 'conflict', message: 'An account has at most 100 views. Delete one first.' }
    expect(await refusalOf(save(who, 'One more', 'sort=price', 'models'))).toEqual(full)
    await remove(who, made[0]?.id ?? '')
    expect(await save(who, 'One more', 'sort=price', 'models')).toMatchObject({ name: 'One more' })
    expect(await refusalOf(save(who, 'x'.repeat(61), 'period=7d'))).toMatchObject({ code: 'invalid_request' })
  })
})
