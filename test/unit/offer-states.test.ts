import { describe, expect, it } from 'vitest'
import type { OfferEvent, OfferState } from '#control-plane/services/offers/state.ts'
import { changeByEvent, nextState, OFFER_EVENTS, OFFER_STATES, stateOf } from '#control-plane/services/offers/state.ts'

const STANDING = {
  active: { status: 'active', delistedReason: null },
  paused: { status: 'paused', delistedReason: null },
  inactive: { status: 'inactive', delistedReason: null },
  delisted: { status: 'paused', delistedReason: 'cannot serve' },
  removed: { status: 'inactive', delistedReason: 'cannot serve' },
} as const

/** The table of the specification: the next state, or the code of the refusal. */
const TABLE: { readonly [State in OfferState]: { readonly [Event in OfferEvent]: string } } = {
  active: {
    activate: 'active',
    pause: 'paused',
    remove: 'inactive',
    cancel: 'inactive',
    rotate: 'active',
    reset: 'active',
    edit: 'active',
    delist: 'delisted',
    restore: 'conflict',
  },
  paused: {
    activate: 'active',
    pause: 'paused',
    remove: 'inactive',
    cancel: 'paused',
    rotate: 'paused',
    reset: 'paused',
    edit: 'paused',
    delist: 'delisted',
    restore: 'conflict',
  },
  inactive: {
    activate: 'active',
    pause: 'conflict',
    remove: 'inactive',
    cancel: 'inactive',
    rotate: 'conflict',
    reset: 'conflict',
    edit: 'inactive',
    delist: 'removed',
    restore: 'conflict',
  },
  delisted: {
    activate: 'offer_delisted_by_operator',
    pause: 'delisted',
    remove: 'removed',
    cancel: 'delisted',
    rotate: 'delisted',
    reset: 'delisted',
    edit: 'delisted',
    delist: 'delisted',
    restore: 'paused',
  },
  removed: {
    activate: 'offer_delisted_by_operator',
    pause: 'conflict',
    remove: 'removed',
    cancel: 'removed',
    rotate: 'conflict',
    reset: 'conflict',
    edit: 'removed',
    delist: 'removed',
    restore: 'inactive',
  },
}

function outcome(state: OfferState, event: OfferEvent): string {
  try {
    return nextState(STANDING[state], event)
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}

describe('the states of an offer', () => {
  it.each(OFFER_STATES.flatMap((state) => OFFER_EVENTS.map((event) => [state, event, TABLE[state][event]] as const)))(
    '%s, %s: %s',
    (state, event, expected) => {
      expect(outcome(state, event)).toBe(expected)
    },
  )

  it('are written as a status and a reason, and read back unchanged', () => {
    for (const state of OFFER_STATES) {
      for (const event of OFFER_EVENTS) {
        if (!(OFFER_STATES as readonly string[]).includes(TABLE[state][event])) continue
        const { status, delistedReason } = changeByEvent(STANDING[state], event, event === 'delist' ? 'broken' : null)
        expect(stateOf({ status: status ?? 'active', delistedReason: delistedReason ?? null })).toBe(
          TABLE[state][event],
        )
      }
    }
  })

  it('lead out of a delisting only by the operator', () => {
    for (const state of ['delisted', 'removed'] as const) {
      for (const event of OFFER_EVENTS) {
        if (event === 'restore') continue
        expect(['delisted', 'removed', 'conflict', 'offer_delisted_by_operator']).toContain(outcome(state, event))
      }
    }
    expect(changeByEvent(STANDING.delisted, 'rotate')).toEqual({ status: 'paused', delistedReason: 'cannot serve' })
  })
})
