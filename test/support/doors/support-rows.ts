import { setPayoutHold } from '#control-plane/db/payout-holds.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { recordFiatDeposit } from '#control-plane/services/ledger/ledger-operations.ts'
import { DAY } from '#shared/clock.ts'
import { reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { catalogItem } from './control-plane.ts'
import type { DoorRow } from './door-row.ts'
import { by, changes, link, reads, without } from './door-row.ts'
import type { DoorWorld } from './door-world.ts'

const ON_MACHINE = machineOperator('test')
const REASON = 'for the test'
/** A day that is over, so that no call comes between two doors. */
const PAST = Date.UTC(2026, 0, 5)

/** A ticket or event id without an earlier use. */
const newTicket = ({ market }: DoorWorld) => `T-${market.plane.ids.ulid()}`
const ofBuyer = (world: DoorWorld) => ({ account: world.accounts.buyer, amountUsd: '0.25' })

/** A grant of credit under a new ticket, by its ledger key. */
async function granted(world: DoorWorld) {
  const ticket = newTicket(world)
  await invoke(world.market.plane, ON_MACHINE, grantCredit, { ...ofBuyer(world), ticket, note: REASON })
  return `grant:${ticket}`
}

/** Money that the user paid in outside the market and may get back. */
async function paidIn(world: DoorWorld) {
  await invoke(world.market.plane, ON_MACHINE, recordFiatDeposit, { ...ofBuyer(world), eventId: newTicket(world) })
  return { ...ofBuyer(world), ticket: newTicket(world), note: REASON }
}

/** A hold of a process that was started for it. */
async function heldCall({ market }: DoorWorld) {
  const node = await market.world.node(`node-${market.plane.ids.ulid()}`)
  await untilOpen(node)
  const { rid } = await node.funds.reserve(reserveRequest(await market.world.account(1_000), { want: 10 }))
  return { rid, reason: REASON }
}

/** Filters under a name that no other view has. */
const viewInput = ({ market }: DoorWorld) => ({
  screen: 'logs',
  name: `View ${market.plane.ids.ulid()}`,
  query: 'period=7d',
})

/** Operations with which operators help a customer, and with which customers help themselves. */
export const SUPPORT_ROWS: readonly DoorRow[] = [
  link('statement.export', 'statementExport', 'statement.export', () => ({ month: '2026-01', format: 'pdf' })),
  without(
    ['name'],
    changes('saved-view.create', 'createSavedView', 'savedView.create', (world) => viewInput(world)),
  ),
  reads('saved-view.list', 'savedViews', 'savedView.list', () => ({ screen: 'models' })),
  without(
    ['name'],
    changes('saved-view.update', 'updateSavedView', 'savedView.update', async (world) => ({
      view: await world.make('/v1/views', viewInput(world)),
      query: 'outcome=failed',
    })),
  ),
  without(
    ['name'],
    changes('saved-view.remove', 'removeSavedView', 'savedView.remove', async (world) => ({
      view: await world.make('/v1/views', viewInput(world)),
    })),
  ),
  ...by('nobody', [reads('provider.choices', 'providerChoices', 'probe.providers')]),
  ...by('operator', [
    reads('support.find', 'supportSubjects', 'support.find', ({ wallet }) => ({ text: wallet.address.slice(0, 12) })),
    reads('support.account', 'supportAccount', 'support.account', ({ accounts }) => ({ account: accounts.seller })),
    reads('figures.read', 'operatorFigures', 'figures.read', () => ({ from: PAST, to: PAST + DAY })),
    reads('ledger.search', 'ledgerTransactions', 'ledger.search', ({ accounts }) => ({ account: accounts.buyer })),
    reads('settings.list', 'planeSettings', 'settings.list'),
    reads('support.request', 'supportCall', 'support.request', ({ ids: { rid } }) => ({ id: rid })),
    changes('ledger.read', 'ledgerTransaction', 'ledger.read', async (world) => ({ key: await granted(world) })),
    // GraphQL has the values before and after as JSON texts.
    without(
      ['before', 'after'],
      reads('catalog.diff', 'catalogDiff', 'catalog.diff', () => ({ models: [catalogItem('another'), { id: 1 }] })),
    ),
    changes('catalog.import', 'importCatalog', 'catalog.import', () => ({
      source: 'test',
      models: [catalogItem('gpt-test'), { id: 1 }],
    })),
    changes('credit.grant', 'grantCredit', 'credit.grant', async (world) => ({
      account: await world.market.world.account(1_000),
      amountUsd: '0.25',
      ticket: newTicket(world),
      note: REASON,
    })),
    changes('payoutHold.clear', 'clearPayoutHold', 'payoutHold.clear', async ({ market: { plane } }) => {
      const id = plane.ids.ulid()
      await setPayoutHold(plane.db, id, `test:${id}`)
      return { id, reason: REASON }
    }),
    changes('refund.fiat', 'refundPayment', 'refund.fiat', paidIn),
    changes('ledger.adjust', 'adjustLedger', 'ledger.adjust', (world) => ({
      ...ofBuyer(world),
      direction: 'credit',
      ticket: newTicket(world),
      reason: REASON,
    })),
    changes('ledger.reverse', 'reverseTransaction', 'ledger.reverse', async (world) => ({
      key: await granted(world),
      reason: REASON,
    })),
    changes('hold.release', 'releaseHold', 'hold.release', heldCall),
    changes('invariants.run', 'runInvariants', 'invariants.run'),
  ]),
]
