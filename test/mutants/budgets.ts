import type { Mutant } from './mutant.ts'
import { editsOf, mutant, seeds, tests } from './mutant.ts'

const GATE = tests('rails/budgets')
const DOORS = tests('doors/budgets')
const SCRIPTS = 'shared/contract/money-scripts'
const ACK = `${SCRIPTS}/ack.ts`
const SETTLE = `${SCRIPTS}/settle.ts`
const RESERVE = `${SCRIPTS}/reserve.ts`
const BUDGETS = 'control-plane/services/organizations/budgets.ts'
const ROWS = 'control-plane/db/budgets.ts'

/** Mistakes that let calls exceed a budget, refuse calls that fit, or bind calls of others. */
export const BUDGET_MUTANTS: readonly Mutant[] = [
  mutant('a-budget-refuses-nothing', GATE, RESERVE, {
    "if left<low or (left<=0 and grant>0) then return nil,'B:'": "if left==nil then return nil,'B:'",
  }),
  mutant('a-budget-does-not-bound-a-hold', GATE, RESERVE, {
    'if grant>left then grant=left end\n    months': 'months',
  }),
  mutant('a-hold-is-not-counted-for-its-budgets', GATE, RESERVE, { ' countBudgets(counted,grant) end': ' end' }),
  mutant('another-budget-is-named', GATE, RESERVE, { "'B:'..#months..": "'B:0'.." }),
  mutant('a-capture-leaves-the-hold-in-its-budgets', GATE, SETTLE, {
    '    if H.bg then correctBudgets(H.bg,tonumber(used)-tonumber(H.amt)) end\n': '',
  }),
  mutant('a-release-leaves-the-hold-in-its-budgets', GATE, SETTLE, {
    '    if H.bg then correctBudgets(H.bg,-tonumber(H.amt)) end\n': '',
  }),
  mutant('a-late-capture-counts-for-no-budget', GATE, SETTLE, {
    '      countBudgets(counted,tonumber(used))\n': '',
  }),
  mutant('an-old-call-counts-for-this-month', GATE, `${SCRIPTS}/prologue.ts`, {
    'readUseOf(key,at)\n    if not use then return nil end': 'readUse(key)\n    if not use then return nil end',
  }),
  mutant('a-call-in-the-seed-counts-twice', GATE, ACK, {
    'if isLate or (isInSeed and U[3]) then correctBudgets': 'if U[9] then correctBudgets',
  }),
  mutant('a-call-before-the-seed-counts-twice', GATE, ACK, {
    'elseif isInSeed or not U[2] then noteUse': 'elseif U[9] then noteUse',
  }),
  mutant('a-call-older-than-its-budget-never-counts', GATE, ACK, {
    'elseif U[2] and not isInSeed and not isLate then countBudgets': 'elseif U[9] then countBudgets',
  }),
  mutant('a-budget-binds-keys-of-other-organisations', DOORS, 'control-plane/db/key-store.ts', {
    "k.type = 'buyer' and b.organization_id = w.organization_id": "k.type = 'buyer'",
  }),
  mutant('a-budget-is-not-published', DOORS, BUDGETS, { '    await insertKeyChangesOfBudget(trx, subject)\n': '' }),
  mutant('a-new-budget-forgets-earlier-calls', DOORS, BUDGETS, {
    '  if (limitMicro !== null) await seedBudgetUse(ctx, id)\n': '',
  }),
  mutant('a-removed-budget-stays', DOORS, BUDGETS, {
    'else if (before !== undefined) await deleteBudget(trx, id)': '',
  }),
  mutant('members-without-the-right-set-budgets', DOORS, BUDGETS, { "'people.change'": "'organization.read'" }),
  mutant('a-running-job-has-spent-nothing', DOORS, ROWS, {
    'select sum(quote) from job': 'select sum(quote) - sum(quote) from job',
  }),
  mutant('spend-of-older-months-is-shown', DOORS, ROWS, {
    'select sum(charge) as micro from settlement where key_id = k.id and rid >=':
      'select sum(charge) as micro from settlement where key_id = k.id and rid <=',
  }),
  mutant('a-posting-names-no-budgets', DOORS, 'control-plane/services/booking/ingest.ts#acknowledge', {
    ', ...(budgets && { budgets })': '',
  }),
  mutant('a-rebuilt-gate-forgets-budgets', DOORS, 'control-plane/services/gate/gate-rebuild.ts#seedSnapshot', {
    '    ...budgetUses.map((use) => toSeed(use, keeper.budgetCounter(use.id))),\n': '',
  }),
  mutant('a-brought-call-counts-for-no-budget', DOORS, 'data-plane/store/funds.ts#reserve', {
    'budgets === undefined ? granted : { ...granted, budgets: budgets.map(({ id }) => id) }': 'granted',
  }),
  mutant(
    'budgets_begin_the_epoch_empty',
    seeds(40, { budgets: true }),
    'control-plane/services/gate/gate-rebuild.ts#seedSnapshot',
    { '    ...budgetUses.map((use) => toSeed(use, keeper.budgetCounter(use.id))),\n': '' },
  ),
  // The harvest and the journal bring the same captures, so that each hides the absence of the other.
  {
    name: 'brought-captures-count-for-no-budget',
    noticedBy: DOORS,
    edits: [
      ...editsOf('control-plane/ports/gate-keeper/redis-harvest.ts#readCaptures', {
        'budgets === undefined ? capture : { ...capture, budgets }': 'capture',
      }),
      ...editsOf('data-plane/store/open-calls.ts#captureOf', {
        '    ...(read.budgets && { budgets: read.budgets }),\n': '',
      }),
    ],
  },
]
