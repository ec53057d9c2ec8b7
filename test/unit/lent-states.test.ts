import { describe, expect, it } from 'vitest'
import { LENT_EVENTS, LENT_STATES, lentStateOf, nextLentState } from '#control-plane/services/lending/state.ts'
import { AppError } from '#shared/errors.ts'

describe('the states of a lent offer', () => {
  it('have a transition for every event, and none out of the last state', () => {
    const standing = {
      active: { status: 'active', delistedReason: null, purgedAt: null },
      paused: { status: 'paused', delistedReason: null, purgedAt: null },
      blocked: { status: 'paused', delistedReason: 'x', purgedAt: null },
      delisted: { status: 'delisted', delistedReason: null, purgedAt: null },
      purged: { status: 'delisted', delistedReason: null, purgedAt: new Date() },
    } as const
    const stepOf = (state: (typeof LENT_STATES)[number], event: (typeof LENT_EVENTS)[number]) => {
      try {
        return nextLentState(standing[state], event)
      } catch (error) {
        return error instanceof AppError ? error.code : 'thrown'
      }
    }
    const conflict = 'conflict'
    expect(
      LENT_STATES.map((state) => [lentStateOf(standing[state]), ...LENT_EVENTS.map((event) => stepOf(state, event))]),
    ).toEqual([
      ['active', 'active', 'paused', 'active', 'delisted', 'purged', 'blocked', conflict],
      ['paused', 'active', 'paused', 'paused', 'delisted', 'purged', 'blocked', conflict],
      ['blocked', 'offer_delisted_by_operator', 'blocked', 'blocked', 'delisted', 'purged', 'blocked', 'paused'],
      ['delisted', conflict, conflict, conflict, 'delisted', 'purged', conflict, conflict],
      ['purged', conflict, conflict, conflict, 'purged', 'purged', conflict, conflict],
    ])
  })
})
