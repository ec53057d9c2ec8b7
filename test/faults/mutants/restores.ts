import type { TestMutant } from './test-mutant.ts'

const PAYOUTS = 'control-plane/services/payouts'
const PAYMENTS = 'control-plane/services/payments'
const LIFT = 'control-plane/services/treasury/lift-hold.ts'
const WHOLE = 'control-plane/services/gate/whole-again.ts'
const TAKE = 'control-plane/services/deposits/take-moves.ts'
const EPOCH = 'control-plane/db/money-epoch.ts'

/** Mistakes with money that leaves after the ledger went back in time. */
const OUT: readonly Omit<TestMutant, 'caughtBy'>[] = [
  {
    name: 'a-step-back-holds-nothing',
    file: EPOCH,
    find: '    held_at = clock_timestamp(), joined_at = null, restored_to = least(',
    replace: '    joined_at = null, restored_to = least(',
  },
  {
    name: 'a-hold-ends-before-signatures-have-run-out',
    file: LIFT,
    find: "  if (at < until) return { ...facts, wait: 'chain' }\n",
    replace: '',
  },
  {
    name: 'a-hold-ends-before-the-nodes-have-told',
    file: LIFT,
    find: "  if (joinedAt === undefined) return { ...NOTHING, wait: 'journals' }\n",
    replace: '',
  },
  {
    name: 'whoever-finds-the-chain-read-ends-a-hold',
    file: EPOCH,
    find: ' and joined_at is not null`.execute(trx)',
    replace: '`.execute(trx)',
  },
  {
    name: 'draws-that-the-books-lost-are-sent-again',
    file: LIFT,
    find: 'const draws = await failUnsentDraws(trx, LOST)',
    replace: 'const draws = trx === undefined ? await failUnsentDraws(trx, LOST) : 0n',
  },
  {
    name: 'a-payout-planned-again-has-another-number',
    file: 'control-plane/db/treasury-transfers.ts',
    find: 'select coalesce(max(number), 0) + 1 as number',
    replace: 'select coalesce(max(number), 0) + 1 + (extract(epoch from clock_timestamp())::bigint % 97) as number',
  },
  {
    name: 'a-departure-without-a-row-is-nobodys',
    file: `${PAYOUTS}/find-departure.ts`,
    find: '  if (name === null) return undefined\n',
    replace: '  if (name !== null) return undefined\n',
  },
  {
    name: 'a-planned-payout-that-left-stays-planned',
    file: `${PAYOUTS}/find-departure.ts`,
    find: "  if (state === 'scheduled' || state === 'held') return true\n",
    replace: '',
  },
  {
    name: 'the-platform-pays-for-a-deposit-that-comes-back',
    file: TAKE,
    find: 'if (stoodIn <= 0n) return undefined',
    replace: 'if (stoodIn >= 0n) return undefined',
  },
  {
    name: 'a-payout-is-covered-while-its-sales-are-being-settled',
    file: WHOLE,
    find: 'return !(await hasUnbookedClaims(trx, joinedAt))',
    replace: 'return true',
  },
  {
    name: 'a-deposit-repays-more-than-came',
    file: TAKE,
    find: 'const due = [stoodIn, amount, owed]',
    replace: 'const due = [stoodIn, owed]',
  },
  {
    name: 'a-deposit-repays-what-others-owe',
    file: 'control-plane/db/money-watch.ts',
    find: 'where s.rid = t.id and s.account = ',
    replace: 'where s.rid = t.id and s.account <> ',
  },
  {
    name: 'a-second-deposit-repays-again',
    file: 'control-plane/db/money-watch.ts',
    find: "or t.kind = 'repaid' and exists",
    replace: "or t.kind = 'none' and exists",
  },
  {
    name: 'a-hold-ends-while-departures-have-no-name',
    file: LIFT,
    find: 'const open = unsettled.length > 0 ? unsettled : await',
    replace: 'const open = unsettled.length < 0 ? unsettled : await',
  },
  {
    name: 'earnings-that-come-back-are-not-awaited',
    file: WHOLE,
    find: 'if (clock.now() <= Math.max(joinedAt + EARNING_AGAIN_MS, heldAt + (treasury?.validMs ?? 0))) return false\n',
    replace: '',
  },
  {
    name: 'a-spent-nonce-shows-no-step-back',
    file: `${PAYOUTS}/move-transfers.ts`,
    find: '  if (ground.spent.size > 0) return noticeSpent(ctx, ground.spent)\n',
    replace: '  void noticeSpent\n',
  },
]

/** Mistakes with leave to sign, which a step back takes away. */
const LEAVE: readonly Omit<TestMutant, 'caughtBy'>[] = [
  {
    name: 'a-signature-asks-no-more-whether-it-may-be',
    file: 'control-plane/db/chain-transactions.ts',
    find: '    await allow(trx)\n    const next',
    replace: '    const next',
  },
  {
    name: 'a-raised-fee-asks-no-more-whether-it-may-be',
    file: 'control-plane/db/chain-transactions.ts',
    find: '    await allow(trx)\n    return insertChainTransaction',
    replace: '    return insertChainTransaction',
  },
  {
    name: 'a-leave-outlives-a-hold-that-was-lifted',
    file: 'control-plane/services/gate/may-leave.ts',
    find: ' && footing.restoredAt === restoredAt',
    replace: '',
  },
  {
    name: 'payments-wait-for-the-nodes-and-run-out',
    file: 'control-plane/services/gate/may-leave.ts',
    find: "(way === 'in' && standing !== 'behind')",
    replace: "(way === 'in' && standing === 'held')",
  },
  {
    name: 'a-signature-that-ran-out-is-a-refusal-of-its-recipient',
    file: `${PAYOUTS}/send-transfers.ts`,
    find: '.filter(({ validUntil }) => (validUntil?.getTime() ?? 0) > at)',
    replace: '.filter(() => at > 0)',
  },
]

/** Mistakes with departures whose rows the ledger lost. */
const DEPARTURES: readonly Omit<TestMutant, 'caughtBy'>[] = [
  {
    name: 'a-turn-tries-names-without-end',
    file: `${PAYOUTS}/departure-name.ts`,
    find: '    if (BigInt(budget.left) < end - base) return undefined\n',
    replace: '',
  },
  {
    name: 'a-search-for-a-name-begins-anew-each-turn',
    file: TAKE,
    find: '    if (found.place !== null) await noteSearch(trx, purseOf(ctx.moves), move, found.place)\n',
    replace: '    void noteSearch\n',
  },
  {
    name: 'numbers-below-one-that-was-found-are-not-tried',
    file: 'control-plane/db/treasury-transfers.ts',
    find: 'max(number) filter (where found_at is null)',
    replace: 'max(number)',
  },
  {
    name: 'payouts-go-on-while-a-departure-has-no-name-yet',
    file: TAKE,
    find: 'if (heldAt === undefined && !ctx.moves.isFormer) await holdPayouts',
    replace: 'if (heldAt !== undefined && !ctx.moves.isFormer) await holdPayouts',
  },
  {
    name: 'a-found-payout-is-made-of-what-others-are-paid',
    file: `${PAYOUTS}/find-departure.ts`,
    find: '[...earnings.filter(isHere), ...earnings.filter((row) => !isHere(row))]',
    replace: '[...earnings.filter((row) => !isHere(row)), ...earnings.filter(isHere)]',
  },
  {
    name: 'an-operator-books-a-payout-before-its-earnings-are-back',
    file: 'control-plane/services/deposits/assign-departure.ts',
    find: 'record.heldAt === undefined || (await isWholeAgain(ctx, trx, record))',
    replace: 'record.heldAt === undefined || (await isWholeAgain(ctx, trx, record)) || true',
  },
]

/** Mistakes with treasuries that are the settings' no more. */
const FORMER: readonly Omit<TestMutant, 'caughtBy'>[] = [
  {
    name: 'only-the-treasury-of-the-settings-is-awaited',
    file: LIFT,
    find: '  for (const purse of await listFormerPurses(db, own)) {',
    replace: '  for (const purse of (await listFormerPurses(db, own)).slice(0, 0)) {',
  },
  {
    name: 'what-comes-to-a-treasury-of-before-is-credited',
    file: TAKE,
    find: "ctx.moves.isFormer ? 'out' : undefined",
    replace: 'undefined',
  },
  {
    name: 'a-treasury-whose-cursor-is-lost-begins-anew',
    file: 'control-plane/services/deposits/read-moves.ts',
    find: 'const firstBlock = named ?? lost ?? final + 1n',
    replace: 'const firstBlock = named ?? final + 1n + (lost ?? 0n) * 0n',
  },
]

/** Mistakes with calls whose claims the ledger lost. */
const CLAIMS: readonly Omit<TestMutant, 'caughtBy'>[] = [
  {
    name: 'a-lost-claim-is-not-made-again',
    file: `${PAYMENTS}/settle-payment.ts`,
    find: 'before === undefined && lost !== undefined ? await rebuildClaim',
    replace: 'before !== undefined && lost !== undefined ? await rebuildClaim',
  },
  {
    name: 'a-claim-is-made-again-beside-another',
    file: `${PAYMENTS}/rebuild-claim.ts`,
    find: 'const name = { network, asset: asset.toLowerCase(), payer, nonce }',
    replace: 'const name = { network, asset: asset.toLowerCase(), payer, nonce: nonce + rid }',
  },
  {
    name: 'claims-are-taken-before-the-nodes-have-told',
    file: EPOCH,
    find: "when joined_at is null then 'joining' else 'held' end",
    replace: "when joined_at is null and beat < 0 then 'joining' else 'held' end",
  },
  {
    name: 'a-charge-that-nobody-can-book-leaves-no-trace',
    file: `${PAYMENTS}/settle-payment.ts`,
    find: '    await ledger.insertPoison([\n',
    replace: '    void ([\n',
  },
  {
    name: 'a-claim-made-again-names-an-account-that-is-lost',
    file: `${PAYMENTS}/rebuild-claim.ts`,
    find: 'await trx.payments.ensureUser({ ...newUser(ctx, payer), ...own }, ctx.clock.now())',
    replace: 'await trx.payments.ensureUser({ ...own, ...newUser(ctx, payer) }, ctx.clock.now())',
  },
  {
    name: 'a-payment-without-its-claim-is-a-deposit',
    file: TAKE,
    find: 'const isSentHere = own !== undefined || isOurs',
    replace: 'const isSentHere = own !== undefined && isOurs',
  },
  {
    name: 'our-key-is-unknown-while-it-is-out-of-gas-money',
    file: `${PAYMENTS}/payment-terms.ts`,
    find: 'if (payments?.settler === sender || (await isChainSender(ctx.db, sender))) return true',
    replace: 'if (payments?.memory.standing?.facilitator?.toLowerCase() === sender) return true',
  },
  {
    name: 'what-was-credited-is-booked-as-a-payment-too',
    file: `${PAYMENTS}/payment-states.ts`,
    find: "due: { ...NOTHING, mine: 'mined', refuse: 'written_off', credit: 'released' }",
    replace: "due: { ...NOTHING, mine: 'mined', refuse: 'written_off', credit: 'mined' }",
  },
  {
    name: 'an-operator-assigns-what-pays-for-a-call',
    file: 'control-plane/services/deposits/operator-moves.ts',
    find: 'if (claim !== undefined) {',
    replace: "if (claim?.state === 'claimed') {",
  },
]

/** Mistakes with the notice of a step back. */
const NOTICES: readonly Omit<TestMutant, 'caughtBy'>[] = [
  {
    name: 'a-step-back-is-noticed-again-while-the-gate-is-rebuilt',
    file: 'control-plane/services/gate/ledger-restores.ts',
    find: 'return isRestoreNew || (heldAt !== undefined && joinedAt === undefined)',
    replace: 'return isRestoreNew || (heldAt !== undefined && joinedAt !== joinedAt)',
  },
  {
    name: 'no-step-back-is-noticed-by-versions-while-money-is-held',
    file: 'control-plane/services/gate/ledger-restores.ts',
    find: 'return isRestoreNew || (heldAt !== undefined && joinedAt === undefined)',
    replace: 'return isRestoreNew || (heldAt !== undefined && joinedAt === joinedAt)',
  },
]

/** Mistakes with what is told by several at once. */
const TOGETHER: readonly Omit<TestMutant, 'caughtBy'>[] = [
  {
    name: 'a-claim-made-again-by-another-teller-is-lost',
    file: `${PAYMENTS}/settle-payment.ts`,
    find: 'const known = before ?? (rebuilt === undefined ? await trx.payments.lock(rid) : undefined)',
    replace: 'const known = before',
  },
]

const INGEST = 'control-plane/services/booking/ingest.ts'

/** Mistakes with calls of wallets whose accounts the ledger lost. */
const ACCOUNTS: readonly Omit<TestMutant, 'caughtBy'>[] = [
  {
    name: 'a-free-call-of-a-lost-account-is-set-aside',
    file: INGEST,
    find: 'kinds.has(told.payer) ? told : await withAccountOfNow(ctx, told, kinds)',
    replace: 'kinds.has(told.payer) || withAccountOfNow.length > 0 ? told : told',
  },
  {
    name: 'a-lost-account-is-another-for-each-call',
    file: INGEST,
    find: 'const fresh = { ...newUser(ctx, wallet.data), buyerAccount: read.payer }',
    replace: 'const fresh = newUser(ctx, wallet.data)',
  },
  {
    name: 'a-lost-account-pays-beside-that-of-its-wallet',
    file: INGEST,
    find: '  const { buyerAccount: payer } = unrivalled(made)\n',
    replace: '  const payer = (unrivalled(made), read.payer)\n',
  },
  {
    name: 'an-account-is-made-for-whatever-a-call-names',
    file: INGEST,
    find: '  if (!read.posting.isOfWallet || !wallet.success) return read\n',
    replace: '  if (!wallet.success) return read\n',
  },
  {
    name: 'the-end-of-a-job-stays-parked-by-a-lost-account',
    file: 'control-plane/services/booking/book-job-event.ts',
    find: 'const read = isOfItsWallet(job, told) ? { ...told, payer: job.account } : told',
    replace: 'const read = isOfItsWallet(job, told) ? told : told',
  },
]

/** Mistakes with what a ledger lost that went back in time. */
export const RESTORE_MUTANTS: readonly TestMutant[] = [
  ...OUT.map((mutant) => ({ ...mutant, caughtBy: 'services/payout-restores' })),
  ...LEAVE.map((mutant) => ({ ...mutant, caughtBy: 'services/signing-leave' })),
  ...DEPARTURES.map((mutant) => ({ ...mutant, caughtBy: 'services/lost-departures' })),
  ...FORMER.map((mutant) => ({ ...mutant, caughtBy: 'services/former-treasuries' })),
  ...ACCOUNTS.map((mutant) => ({ ...mutant, caughtBy: 'services/lost-claims' })),
  ...NOTICES.map((mutant) => ({ ...mutant, caughtBy: 'services/ledger-restores' })),
  ...TOGETHER.map((mutant) => ({ ...mutant, caughtBy: 'services/lost-claims' })),
  ...CLAIMS.map((mutant) => ({ ...mutant, caughtBy: 'services/lost-claims' })),
]
