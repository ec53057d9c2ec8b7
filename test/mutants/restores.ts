import type { Mutant } from './mutant.ts'
import { editsOf, mutant, seeds, tests } from './mutant.ts'

const PENDING_SETTLEMENTS = 'data-plane/pipeline/claims/pending-settlements.ts'
const STANDING_CLAIMS = 'data-plane/pipeline/claims/standing-claims.ts'
const GATE_WATCH = 'control-plane/services/gate/gate-watch.ts'
const FUNDS_RECOVERY = 'data-plane/store/funds-recovery.ts'
const RECAPTURE = 'data-plane/journal/recapture.ts'
const GATE_REBUILD = 'control-plane/services/gate/gate-rebuild.ts'
const LEDGER_RESTORES = 'control-plane/services/gate/ledger-restores.ts'
const MONEY_EPOCH = 'control-plane/db/money-epoch.ts'
const LIFT_HOLD = 'control-plane/services/treasury/lift-hold.ts'
const TREASURY_TRANSFERS = 'control-plane/db/treasury-transfers.ts'
const FIND_DEPARTURE = 'control-plane/services/payouts/find-departure.ts'
const TAKE_MOVES = 'control-plane/services/deposits/take-moves.ts'
const WHOLE_AGAIN = 'control-plane/services/gate/whole-again.ts'
const SHORTFALL = 'control-plane/db/shortfall.ts'
const MOVE_TRANSFERS = 'control-plane/services/payouts/move-transfers.ts'
const CHAIN_TRANSACTIONS = 'control-plane/db/chain-transactions.ts'
const MAY_LEAVE = 'control-plane/services/gate/may-leave.ts'
const SEND_TRANSFERS = 'control-plane/services/payouts/send-transfers.ts'
const DEPARTURE_NAME = 'control-plane/services/payouts/departure-name.ts'
const ASSIGN_DEPARTURE = 'control-plane/services/deposits/assign-departure.ts'
const READ_MOVES = 'control-plane/services/deposits/read-moves.ts'
const INGEST = 'control-plane/services/booking/ingest.ts'
const BOOK_JOB_EVENT = 'control-plane/services/booking/book-job-event.ts'
const SETTLE_PAYMENT = 'control-plane/services/payments/settle-payment.ts'
const REBUILD_CLAIM = 'control-plane/services/payments/rebuild-claim.ts'
const PAYMENT_TERMS = 'control-plane/services/payments/payment-terms.ts'
const PAYMENT_STATES = 'control-plane/services/payments/payment-states.ts'
const OPERATOR_MOVES = 'control-plane/services/deposits/operator-moves.ts'

const PAYOUT_RESTORES_TEST = tests('services/payout-restores')
const SIGNING_LEAVE_TEST = tests('services/signing-leave')
const LOST_DEPARTURES_TEST = tests('services/lost-departures')
const FORMER_TREASURIES_TEST = tests('services/former-treasuries')
const LOST_CLAIMS_TEST = tests('services/lost-claims')
const LEDGER_RESTORES_TEST = tests('services/ledger-restores')

/** Mistakes around a restored ledger that the simulation plays. */
const SIMULATED: readonly Mutant[] = [
  mutant('lost_charges_are_not_told_again', seeds(10, { restores: true }), `${PENDING_SETTLEMENTS}#finish`, {
    'const isAll = recaptures !== rail.recaptures': 'const isAll = recaptures < rail.recaptures',
  }),
  mutant('claims_are_not_kept_with_events', seeds(10, { restores: true }), 'data-plane/rails/claim.ts#claimHold', {
    '{ ...recordOf(checkedPayment), claim }': 'recordOf(checkedPayment)',
  }),
  {
    name: 'restored_ledgers_take_claims_at_once',
    noticedBy: seeds(60, { restores: true }),
    edits: [
      ...editsOf('control-plane/services/payments/claim-payment.ts#claimPayment', {
        'if (await isIncomplete(ctx, beat)) return closed(RESTORED)': '',
      }),
      ...editsOf('control-plane/services/payments/claim-payment.ts#insert', {
        "if (standing === 'behind' || standing === 'joining') return closed(RESTORED)": '',
      }),
    ],
  },
  mutant('standing_claims_are_not_told', seeds(60, { restores: true }), `${STANDING_CLAIMS}#tell`, {
    'await desk.claimAgain(batch)\n    return': 'return',
  }),
  {
    name: 'old_answers_cross_charges_off',
    noticedBy: seeds(120, { restores: true }),
    edits: [
      ...editsOf(`${PENDING_SETTLEMENTS}#finish`, {
        'const isOver = over.get(rid) === replay.recaptures()': 'const isOver = over.has(rid)',
      }),
      ...editsOf(`${PENDING_SETTLEMENTS}#note`, {
        "if (state === 'pending' || isOld) {": "if (state === 'pending') {",
      }),
    ],
  },
  mutant('restore_is_noticed_twice', seeds(10, { restores: true }), `${GATE_WATCH}#look`, {
    '(await noticeLowBeat(ctx, record, view)) || record.isRestoreNew':
      'record.isRestoreNew || (await noticeLowBeat(ctx, record, view))',
  }),
  mutant('lost_calls_are_not_captured_again', seeds(10, { restores: true }), `${FUNDS_RECOVERY}#bringAll`, {
    'if (membership.restore !== undefined) await journal.recapture(membership.restore)': '',
  }),
  mutant('only_calls_after_the_restore_are_captured_again', seeds(10, { restores: true }), `${RECAPTURE}#since`, {
    'await captureAgain(parts, directory, step.to)': 'await captureAgain(parts, directory, step.at)',
  }),
  mutant('lost_calls_of_the_dead_are_passed_over', seeds(20, { restores: true }), `${RECAPTURE}#takenOver`, {
    'await captureAgain(parts, deadDirectory, restore.to)': '',
  }),
  mutant('lost_calls_are_not_in_the_new_gate', seeds(10, { restores: true }), `${FUNDS_RECOVERY}#bringAll`, {
    'await bringCaptures(ports, registrar)\n': '',
    "if (!(await isInPhase(connection, membership, 'register'))) await bringCaptures(ports, registrar, { membership })":
      '',
  }),
  mutant('restored_gate_waits_for_nobody', seeds(20, { restores: true }), `${GATE_REBUILD}#rebuildGate`, {
    'waitMs: restore === undefined ? READY_WAIT_MS : RESTORED_WAIT_MS,':
      'waitMs: restore === undefined ? READY_WAIT_MS : 0,',
  }),
  mutant('restored_gate_is_not_rebuilt', seeds(10, { restores: true }), `${GATE_WATCH}#look`, {
    '(await noticeLowBeat(ctx, record, view)) || record.isRestoreNew':
      '(await noticeLowBeat(ctx, record, view)) && record.epoch < 0',
  }),
  {
    name: 'lost_calls_are_sought_without_a_margin',
    noticedBy: seeds(20, { restores: true }),
    edits: [
      ...editsOf(`${LEDGER_RESTORES}#noticeOtherDatabase`, {
        'await ledger.markRestored(beatAt - CLOCK_MARGIN_MS)': 'await ledger.markRestored(beatAt)',
      }),
      ...editsOf(`${LEDGER_RESTORES}#noticeLowBeat`, {
        'const restoredTo = record.beatAt - CLOCK_MARGIN_MS': 'const restoredTo = record.beatAt',
      }),
    ],
  },
]

/** Mistakes with payouts, claims and accounts that a restored ledger lost. */
const SERVICES: readonly Mutant[] = [
  mutant('a-step-back-holds-nothing', PAYOUT_RESTORES_TEST, `${MONEY_EPOCH}#markRestored`, {
    '    held_at = clock_timestamp(), joined_at = null, restored_to = least(':
      '    joined_at = null, restored_to = least(',
  }),
  mutant('a-hold-ends-before-signatures-have-run-out', PAYOUT_RESTORES_TEST, `${LIFT_HOLD}#findReasonOf`, {
    "  if (at < until) return { ...facts, wait: 'chain' }\n": '',
  }),
  mutant('a-hold-ends-before-the-nodes-have-told', PAYOUT_RESTORES_TEST, `${LIFT_HOLD}#findReason`, {
    "  if (joinedAt === undefined) return { ...NOTHING, wait: 'journals' }\n": '',
  }),
  mutant('whoever-finds-the-chain-read-ends-a-hold', PAYOUT_RESTORES_TEST, `${MONEY_EPOCH}#liftHold`, {
    ' and joined_at is not null`.execute(trx)': '`.execute(trx)',
  }),
  mutant('draws-that-the-books-lost-are-sent-again', PAYOUT_RESTORES_TEST, `${LIFT_HOLD}#liftWhenWhole`, {
    'const draws = await failUnsentDraws(trx, LOST)':
      'const draws = trx === undefined ? await failUnsentDraws(trx, LOST) : 0n',
  }),
  mutant(
    'a-payout-planned-again-has-another-number',
    PAYOUT_RESTORES_TEST,
    `${TREASURY_TRANSFERS}#nextTransferNumber`,
    {
      'select coalesce(max(number), 0) + 1 as number':
        'select coalesce(max(number), 0) + 1 + (extract(epoch from clock_timestamp())::bigint % 97) as number',
    },
  ),
  mutant('a-departure-without-a-row-is-nobodys', PAYOUT_RESTORES_TEST, `${FIND_DEPARTURE}#findDeparture`, {
    '  if (name === null) return undefined\n': '  if (name !== null) return undefined\n',
  }),
  mutant('a-planned-payout-that-left-stays-planned', PAYOUT_RESTORES_TEST, `${FIND_DEPARTURE}#hasNotLeft`, {
    "  if (state === 'scheduled' || state === 'held') return true\n": '',
  }),
  mutant('the-platform-pays-for-a-deposit-that-comes-back', PAYOUT_RESTORES_TEST, `${TAKE_MOVES}#repayStoodIn`, {
    'if (stoodIn <= 0n) return undefined': 'if (stoodIn >= 0n) return undefined',
  }),
  mutant('a-payout-is-covered-while-its-sales-are-being-settled', PAYOUT_RESTORES_TEST, `${WHOLE_AGAIN}#isWholeAgain`, {
    'return !(await hasUnbookedClaims(trx, joinedAt))': 'return true',
  }),
  mutant('a-deposit-repays-more-than-came', PAYOUT_RESTORES_TEST, `${TAKE_MOVES}#repayStoodIn`, {
    'const due = [stoodIn, amount, owed]': 'const due = [stoodIn, owed]',
  }),
  mutant('a-deposit-repays-what-others-owe', PAYOUT_RESTORES_TEST, `${SHORTFALL}#readStoodIn`, {
    'where s.rid = t.id and s.account = ': 'where s.rid = t.id and s.account <> ',
  }),
  mutant('a-second-deposit-repays-again', PAYOUT_RESTORES_TEST, `${SHORTFALL}#readStoodIn`, {
    "or t.kind = 'repaid' and exists": "or t.kind = 'none' and exists",
  }),
  mutant('a-hold-ends-while-departures-have-no-name', PAYOUT_RESTORES_TEST, `${LIFT_HOLD}#findReasonOf`, {
    'const open = unsettled.length > 0 ? unsettled : await': 'const open = unsettled.length < 0 ? unsettled : await',
  }),
  mutant('earnings-that-come-back-are-not-awaited', PAYOUT_RESTORES_TEST, `${WHOLE_AGAIN}#isWholeAgain`, {
    'if (clock.now() <= Math.max(joinedAt + EARNING_AGAIN_MS, heldAt + (treasury?.validMs ?? 0))) return false\n': '',
  }),
  mutant('a-spent-nonce-shows-no-step-back', PAYOUT_RESTORES_TEST, `${MOVE_TRANSFERS}#signAll`, {
    '  if (ground.spent.size > 0) return noticeSpent(ctx, ground.spent)\n': '  void noticeSpent\n',
  }),
  mutant(
    'a-signature-asks-no-more-whether-it-may-be',
    SIGNING_LEAVE_TEST,
    `${CHAIN_TRANSACTIONS}#addChainTransaction`,
    {
      '    await allow(trx)\n    const next': '    const next',
    },
  ),
  mutant(
    'a-raised-fee-asks-no-more-whether-it-may-be',
    SIGNING_LEAVE_TEST,
    `${CHAIN_TRANSACTIONS}#addChainTransactionAt`,
    {
      '    await allow(trx)\n    return insertChainTransaction': '    return insertChainTransaction',
    },
  ),
  mutant('a-leave-outlives-a-hold-that-was-lifted', SIGNING_LEAVE_TEST, `${MAY_LEAVE}#holds`, {
    ' && footing.restoredAt === restoredAt': '',
  }),
  mutant('payments-wait-for-the-nodes-and-run-out', SIGNING_LEAVE_TEST, `${MAY_LEAVE}#holds`, {
    "(way === 'in' && standing !== 'behind')": "(way === 'in' && standing === 'held')",
  }),
  mutant('a-signature-that-ran-out-is-a-refusal-of-its-recipient', SIGNING_LEAVE_TEST, `${SEND_TRANSFERS}#transfers`, {
    '.filter(({ validUntil }) => (validUntil?.getTime() ?? 0) > at)': '.filter(() => at > 0)',
  }),
  mutant('a-turn-tries-names-without-end', LOST_DEPARTURES_TEST, `${DEPARTURE_NAME}#among`, {
    '    if (BigInt(budget.left) < end - base) return undefined\n': '',
  }),
  mutant('a-search-for-a-name-begins-anew-each-turn', LOST_DEPARTURES_TEST, `${TAKE_MOVES}#judgeDeparture`, {
    '    if (departure.place !== null) await noteSearch(trx, purseOf(ctx.moves), move, departure.place)\n':
      '    void noteSearch\n',
  }),
  mutant('numbers-below-one-that-was-found-are-not-tried', LOST_DEPARTURES_TEST, TREASURY_TRANSFERS, {
    'max(number) filter (where found_at is null)': 'max(number)',
  }),
  mutant('payouts-go-on-while-a-departure-has-no-name-yet', LOST_DEPARTURES_TEST, `${TAKE_MOVES}#judgeDeparture`, {
    'if (heldAt === undefined && !ctx.moves.isFormer) await holdPayouts':
      'if (heldAt !== undefined && !ctx.moves.isFormer) await holdPayouts',
  }),
  mutant('a-found-payout-is-made-of-what-others-are-paid', LOST_DEPARTURES_TEST, `${FIND_DEPARTURE}#itemsOf`, {
    '[...earnings.filter(isHere), ...earnings.filter((row) => !isHere(row))]':
      '[...earnings.filter((row) => !isHere(row)), ...earnings.filter(isHere)]',
  }),
  mutant('an-operator-books-a-payout-before-its-earnings-are-back', LOST_DEPARTURES_TEST, `${ASSIGN_DEPARTURE}#run`, {
    'record.heldAt === undefined || (await isWholeAgain(ctx, trx, record))':
      'record.heldAt === undefined || (await isWholeAgain(ctx, trx, record)) || true',
  }),
  mutant('only-the-treasury-of-the-settings-is-awaited', FORMER_TREASURIES_TEST, `${LIFT_HOLD}#findReason`, {
    '  for (const purse of await listFormerPurses(db, own)) {':
      '  for (const purse of (await listFormerPurses(db, own)).slice(0, 0)) {',
  }),
  mutant('what-comes-to-a-treasury-of-before-is-credited', FORMER_TREASURIES_TEST, `${TAKE_MOVES}#takeMoves`, {
    "ctx.moves.isFormer ? 'out' : undefined": 'undefined',
  }),
  mutant('a-treasury-whose-cursor-is-lost-begins-anew', FORMER_TREASURIES_TEST, `${READ_MOVES}#openCursor`, {
    'const firstBlock = configuredBlock ?? firstLost ?? final + 1n':
      'const firstBlock = configuredBlock ?? final + 1n + (firstLost ?? 0n) * 0n',
  }),
  mutant('a-free-call-of-a-lost-account-is-set-aside', LOST_CLAIMS_TEST, `${INGEST}#judge`, {
    'kinds.has(event.payer) ? event : await withAccountOfNow(ctx, event, kinds)':
      'kinds.has(event.payer) || withAccountOfNow.length > 0 ? event : event',
  }),
  mutant('a-lost-account-is-another-for-each-call', LOST_CLAIMS_TEST, `${INGEST}#withAccountOfNow`, {
    'const fresh = { ...newUser(ctx, wallet.data), buyerAccount: read.payer }':
      'const fresh = newUser(ctx, wallet.data)',
  }),
  mutant('a-lost-account-pays-beside-that-of-its-wallet', LOST_CLAIMS_TEST, `${INGEST}#withAccountOfNow`, {
    '  const { buyerAccount: payer } = unrivalled(user)\n': '  const payer = (unrivalled(user), read.payer)\n',
  }),
  mutant('an-account-is-made-for-whatever-a-call-names', LOST_CLAIMS_TEST, `${INGEST}#withAccountOfNow`, {
    '  if (!read.posting.isOfWallet || !wallet.success) return read\n': '  if (!wallet.success) return read\n',
  }),
  mutant('the-end-of-a-job-stays-parked-by-a-lost-account', LOST_CLAIMS_TEST, `${BOOK_JOB_EVENT}#bookParked`, {
    'const read = isOfItsWallet(job, event) ? { ...event, payer: job.account } : event':
      'const read = isOfItsWallet(job, event) ? event : event',
  }),
  mutant(
    'a-step-back-is-noticed-again-while-the-gate-is-rebuilt',
    LEDGER_RESTORES_TEST,
    `${LEDGER_RESTORES}#isNoticed`,
    {
      'return isRestoreNew || (heldAt !== undefined && joinedAt === undefined)':
        'return isRestoreNew || (heldAt !== undefined && joinedAt !== joinedAt)',
    },
  ),
  mutant(
    'no-step-back-is-noticed-by-versions-while-money-is-held',
    LEDGER_RESTORES_TEST,
    `${LEDGER_RESTORES}#isNoticed`,
    {
      'return isRestoreNew || (heldAt !== undefined && joinedAt === undefined)':
        'return isRestoreNew || (heldAt !== undefined && joinedAt === joinedAt)',
    },
  ),
  mutant('a-claim-made-again-by-another-teller-is-lost', LOST_CLAIMS_TEST, `${SETTLE_PAYMENT}#noteCharge`, {
    'const known = before ?? (rebuilt === undefined ? await trx.payments.lock(rid) : undefined)':
      'const known = before',
  }),
  mutant('a-lost-claim-is-not-made-again', LOST_CLAIMS_TEST, `${SETTLE_PAYMENT}#noteCharge`, {
    'before === undefined && lostEvent !== undefined ? await rebuildClaim':
      'before !== undefined && lostEvent !== undefined ? await rebuildClaim',
  }),
  mutant('a-claim-is-made-again-beside-another', LOST_CLAIMS_TEST, `${REBUILD_CLAIM}#makeAgain`, {
    'const name = { network, asset: asset.toLowerCase(), payer, nonce }':
      'const name = { network, asset: asset.toLowerCase(), payer, nonce: nonce + rid }',
  }),
  mutant('claims-are-taken-before-the-nodes-have-told', LOST_CLAIMS_TEST, `${MONEY_EPOCH}#readFooting`, {
    "when joined_at is null then 'joining' else 'held' end":
      "when joined_at is null and beat < 0 then 'joining' else 'held' end",
  }),
  mutant('a-charge-that-nobody-can-book-leaves-no-trace', LOST_CLAIMS_TEST, `${SETTLE_PAYMENT}#setAside`, {
    '    await ledger.insertPoison([\n': '    void ([\n',
  }),
  mutant('a-claim-made-again-names-an-account-that-is-lost', LOST_CLAIMS_TEST, `${REBUILD_CLAIM}#makeAgain`, {
    'await trx.payments.ensureUser({ ...newUser(ctx, payer), ...own }, ctx.clock.now())':
      'await trx.payments.ensureUser({ ...own, ...newUser(ctx, payer) }, ctx.clock.now())',
  }),
  mutant('a-payment-without-its-claim-is-a-deposit', LOST_CLAIMS_TEST, `${TAKE_MOVES}#judgeArrival`, {
    'const isSentHere = own !== undefined || isOurs': 'const isSentHere = own !== undefined && isOurs',
  }),
  mutant('our-key-is-unknown-while-it-is-out-of-gas-money', LOST_CLAIMS_TEST, `${PAYMENT_TERMS}#isOurSettler`, {
    'if (payments?.settler === sender || (await isChainSender(ctx.db, sender))) return true':
      'if (payments?.memory.standing?.facilitator?.toLowerCase() === sender) return true',
  }),
  mutant('what-was-credited-is-booked-as-a-payment-too', LOST_CLAIMS_TEST, `${PAYMENT_STATES}#PAYMENT_STATES`, {
    "due: { ...NOTHING, mine: 'mined', refuse: 'written_off', credit: 'released' }":
      "due: { ...NOTHING, mine: 'mined', refuse: 'written_off', credit: 'mined' }",
  }),
  mutant('an-operator-assigns-what-pays-for-a-call', LOST_CLAIMS_TEST, `${OPERATOR_MOVES}#done`, {
    'if (claim !== undefined) {': "if (claim?.state === 'claimed') {",
  }),
]

/** Mistakes in the steps after a restore of the ledger. */
export const RESTORE_MUTANTS: readonly Mutant[] = [...SIMULATED, ...SERVICES]
