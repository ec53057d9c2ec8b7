import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const SIGN_TRANSFERS = 'control-plane/services/payouts/sign-transfers.ts'
const PLAN_PAYOUTS = 'control-plane/services/payouts/plan-payouts.ts'
const FOLLOW_TRANSFERS = 'control-plane/services/payouts/follow-transfers.ts'
const MOVE_TRANSFERS = 'control-plane/services/payouts/move-transfers.ts'
const END_TRANSFER = 'control-plane/services/payouts/end-transfer.ts'
const KNOWN_CHAIN = 'control-plane/services/treasury/known-chain.ts'
const REMOTE_SIGNER = 'control-plane/ports/treasury/remote-signer.ts'
const TAKE_MOVES = 'control-plane/services/deposits/take-moves.ts'
const CLAIM_PAYMENT = 'control-plane/services/payments/claim-payment.ts'
const RPC_CHAIN_MOVES = 'control-plane/ports/treasury/rpc-chain-moves.ts'
const READ_MOVES = 'control-plane/services/deposits/read-moves.ts'
const FINISH_PAYMENTS = 'control-plane/services/payments/finish-payments.ts'
const LATE_ARRIVAL = 'control-plane/services/payments/late-arrival.ts'
const PAYMENT_SEARCH = 'control-plane/ports/chain/payment-search.ts'
const RECONCILE = 'control-plane/services/deposits/reconcile.ts'
const TELL_OF_DEPOSIT = 'control-plane/services/deposits/tell-of-deposit.ts'
const ACCEPT_CHAIN = 'control-plane/services/deposits/accept-chain.ts'
const TREASURY_MOVES = 'control-plane/db/treasury-moves.ts'

const PAYOUT_FAULTS_TEST = tests('services/payout-faults')
const PAYOUTS_TEST = tests('services/payouts')
const PAYOUT_COVER_TEST = tests('services/payout-cover')
const DEPOSITS_TEST = tests('services/deposits')
const DEPOSIT_FAULTS_TEST = tests('services/deposit-faults')
const ANYBODYS_TRANSFERS_TEST = tests('services/anybodys-transfers')
const PAYMENT_FAULTS_TEST = tests('services/payment-faults')
const REPLACED_CHAIN_PAYMENTS_TEST = tests('services/replaced-chain-payments')
const REPLACED_CHAIN_TEST = tests('services/replaced-chain')
const LEDGER_TEST = tests('services/ledger')

/**
 * Mistakes in movements out of the treasury and into it, in the announcements to accounts, and with replaced chains.
 */
export const TREASURY_MUTANTS: readonly Mutant[] = [
  mutant('money-that-is-owed-leaves-out-what-is-on-its-way', LEDGER_TEST, 'control-plane/db/accounts.ts#kindsOf', {
    'rule.side === side': "rule.side === side && kind !== 'payout_in_flight'",
  }),
  mutant('a-second-signature-forgets-the-block-of-the-first', PAYOUT_FAULTS_TEST, `${SIGN_TRANSFERS}#signed`, {
    'signedAtBlock: transfer.signedAtBlock ?? ground.block': 'signedAtBlock: ground.block',
  }),
  mutant('a-nonce-for-each-signature', PAYOUTS_TEST, 'control-plane/ports/treasury/authorization.ts#nonceOfTransfer', {
    [`keccak256(stringToHex(\`transfer \${seller`]: `keccak256(stringToHex(performance.now() + \`transfer \${seller`,
  }),
  mutant('money-that-stays-with-its-seller-is-paid-out', PAYOUTS_TEST, `${PLAN_PAYOUTS}#booked`, {
    '      { account: seller, amount: -amount },\n      { account: inFlight, amount },': `      { account: 'acc_platform_fee', amount: -amount },
      { account: inFlight, amount },`,
  }),
  mutant('nobody-reviews', PAYOUTS_TEST, `${SIGN_TRANSFERS}#reviewTransfer`, {
    '  if (transfer.nonce !== nonceIn(transfer) || !isBacked(treasury, transfer, booked)) {':
      '  if (transfer.nonce !== nonceIn(transfer)) {',
  }),
  mutant('a-list-that-cannot-be-read-blocks-nobody', PAYOUTS_TEST, `${SIGN_TRANSFERS}#reviewTransfer`, {
    "  return blocked.has(transfer.recipient) ? { event: 'hold', reason: REASONS.blocked } : 'sign'": "  return 'sign'",
  }),
  mutant('sellers-get-what-the-treasury-has-not', PAYOUT_COVER_TEST, `${SIGN_TRANSFERS}#reviewTransfers`, {
    "const isCovered = verdict !== 'sign' || transfer.amount <= left": 'const isCovered = true || left > 0n',
  }),
  mutant('what-is-on-its-way-is-still-in-the-books', PAYOUT_COVER_TEST, `${SIGN_TRANSFERS}#reviewTransfers`, {
    'PLATFORM_ACCOUNTS.externalUsdc)) - open.unbooked': 'PLATFORM_ACCOUNTS.externalUsdc))',
  }),
  mutant('a-signature-that-is-good-is-given-back', PAYOUTS_TEST, `${FOLLOW_TRANSFERS}#followTransfers`, {
    'transfer.validUntil !== null && transfer.validUntil.getTime() <= final.at':
      'transfer.validUntil !== null && final.at > 0',
  }),
  mutant('given-back-by-our-clock', PAYOUTS_TEST, `${FOLLOW_TRANSFERS}#followTransfers`, {
    'transfer.validUntil.getTime() <= final.at': 'transfer.validUntil.getTime() <= Math.max(final.at, ctx.clock.now())',
  }),
  mutant('a-hold-stops-no-signature', PAYOUTS_TEST, `${MOVE_TRANSFERS}#moveTransfers`, {
    '    if ((await findPayoutStop(ctx)) !== undefined) return\n': '    void findPayoutStop\n',
  }),
  mutant('a-spent-nonce-without-its-log-is-given-back', PAYOUT_FAULTS_TEST, `${FOLLOW_TRANSFERS}#followTransfers`, {
    'return isOver && !unclear.has(transfer.nonce) ? letGo(ctx, transfer) : false':
      'return isOver ? letGo(ctx, transfer) : false',
  }),
  mutant('paid-at-the-first-block', PAYOUT_FAULTS_TEST, `${FOLLOW_TRANSFERS}#isDeep`, {
    'head.block - block + 1n >= BigInt(ctx.treasury.confirmations)':
      'head.block - block + 1n >= 1n && ctx.treasury.confirmations > 0',
  }),
  mutant('paid-by-the-depth-of-a-block-that-is-gone', PAYOUT_FAULTS_TEST, `${FOLLOW_TRANSFERS}#confirmTransfers`, {
    'if (!isDeep(use.block) || !isAs(transfer, use)) return false': 'if (!isAs(transfer, use)) return false',
  }),
  mutant('what-is-approved-to-the-micro-waits', PAYOUTS_TEST, `${PLAN_PAYOUTS}#planGroup`, {
    'amount > ctx.settings.payouts.approvalMicro': 'amount >= ctx.settings.payouts.approvalMicro',
  }),
  mutant('signed-payouts-are-swept', PAYOUTS_TEST, 'control-plane/services/payouts/sweep-treasury.ts#planSweep', {
    'ground.balance - waiting - signed - ceilingMicro': 'ground.balance - waiting - ceilingMicro',
  }),
  mutant('what-was-paid-goes-back-to-its-seller', PAYOUTS_TEST, `${END_TRANSFER}#booked`, {
    '{ account: isPaid ? PLATFORM_ACCOUNTS.externalUsdc : seller, amount },':
      '{ account: isPaid ? seller : PLATFORM_ACCOUNTS.externalUsdc, amount },',
  }),
  mutant('what-came-back-stays-allocated', PAYOUTS_TEST, `${END_TRANSFER}#bookEnd`, {
    '  if (!isPaid) await releasePayoutItems(trx, id)\n': '',
  }),
  mutant('another-chain-is-signed-for', PAYOUT_FAULTS_TEST, `${KNOWN_CHAIN}#headOfKnownChain`, {
    '  await chain.checkChain(purse.chainId)\n': '',
  }),
  mutant('a-signer-of-another-address-is-believed', PAYOUTS_TEST, `${REMOTE_SIGNER}#sign`, {
    "    if (!isAddressEqual(signed, address)) throw new Error('the signer signed for another address')\n":
      '    void signed\n',
  }),
  mutant('the-nonce-alone-names-a-deposit', DEPOSITS_TEST, `${TAKE_MOVES}#judgeArrival`, {
    'if (deposit?.sender === party) {': 'if (deposit !== undefined) {',
  }),
  mutant('a-payment-is-a-deposit-too', DEPOSITS_TEST, `${TAKE_MOVES}#judgeArrival`, {
    "  if (claim !== undefined) return { kind: 'payment', ref: claim.rid }\n":
      "  if (claim !== undefined && nonce === null) return { kind: 'payment', ref: claim.rid }\n",
  }),
  mutant('a-deposit-pays-for-a-call-too', DEPOSITS_TEST, `${CLAIM_PAYMENT}#insert`, {
    'if (await trx.payments.wasMoved(name))': 'if ((await trx.payments.wasMoved(name)) && exposure.owed < 0n)',
  }),
  mutant('any-token-is-credited', DEPOSITS_TEST, `${RPC_CHAIN_MOVES}#listChainMoves`, {
    'const incoming = transfers(incomingLogs)': 'const incoming = transfers([...incomingLogs, ...anyTokenLogs])',
  }),
  mutant('capital-is-booked-over-a-deposit', DEPOSITS_TEST, 'control-plane/services/deposits/fund-treasury.ts#book', {
    '        await takeAsCapital(paying.treasury, trx, transaction, place)\n': '        void place\n',
  }),
  mutant('a-stranger-signs', DEPOSITS_TEST, 'control-plane/services/deposits/open-deposit.ts#requireGood', {
    "  if (signer?.toLowerCase() !== sender) throw new AppError('invalid_signature')\n": '  void signer\n',
  }),
  mutant('nothing-is-proven', DEPOSIT_FAULTS_TEST, `${READ_MOVES}#readMoves`, {
    '  if (cursor.nextBlock > final) await prove(ctx, cursor, hash)\n': '',
  }),
  mutant('credited-at-the-first-block', DEPOSIT_FAULTS_TEST, `${READ_MOVES}#readMoves`, {
    'const final = finalBlock(ctx.moves, head.block)': 'const final = head.block',
  }),
  mutant('a-transaction-in-another-block-is-another', DEPOSIT_FAULTS_TEST, `${RPC_CHAIN_MOVES}#movesOf`, {
    'const place = places.get(transfer.transaction) ?? 0':
      'const place = (places.get(transfer.transaction) ?? 0) + Number(transfer.block % 1_000_000n)',
  }),
  mutant('a-deposit-is-told-by-the-log-of-its-block', DEPOSIT_FAULTS_TEST, `${RPC_CHAIN_MOVES}#movesOf`, {
    'const place = places.get(transfer.transaction) ?? 0':
      'const place = places.get(transfer.transaction) ?? transfer.logIndex',
  }),
  mutant('two-transfers-of-a-transaction-are-one', ANYBODYS_TRANSFERS_TEST, `${RPC_CHAIN_MOVES}#movesOf`, {
    'places.set(transfer.transaction, place + 1)': 'places.set(transfer.transaction, place)',
  }),
  mutant('a-payment-is-final-one-block-early', PAYMENT_FAULTS_TEST, `${FINISH_PAYMENTS}#look`, {
    'head.block - block + 1n < BigInt(ctx.payments.confirmations)':
      'head.block - block + 2n < BigInt(ctx.payments.confirmations)',
  }),
  // The simulation noticed this mistake in too few of its seeds.
  mutant(
    'a-payment-whose-block-is-gone-has-left-its-purse',
    REPLACED_CHAIN_PAYMENTS_TEST,
    `${CLAIM_PAYMENT}#readPurse`,
    {
      '(used.has(nonce) ? [rid] : [])':
        "(used.has(nonce) || open.some((row) => row.rid === rid && row.state === 'mined') ? [rid] : [])",
    },
  ),
  mutant('whoever-uses-the-proxy-pays-for-a-call', ANYBODYS_TRANSFERS_TEST, `${TAKE_MOVES}#findClaim`, {
    'nonce !== null || settlerOf(claim) === permitBy ? claim : undefined':
      'nonce !== null || settlerOf(claim) !== undefined ? claim : undefined',
  }),
  mutant('what-comes-after-a-release-is-nobodys', ANYBODYS_TRANSFERS_TEST, `${LATE_ARRIVAL}#takeUpArrival`, {
    'const next = PAYMENT_STATES[state].appear':
      "const next = state === 'released' ? null : PAYMENT_STATES[state].appear",
  }),
  mutant('a-payment-has-any-transfer-of-its-transaction', ANYBODYS_TRANSFERS_TEST, `${PAYMENT_SEARCH}#usedTransfer`, {
    'transfers.find(({ index }) => index === use.logIndex + 1)?.amount ?? 0n':
      'transfers.find(({ index }) => index >= 0)?.amount ?? 0n',
  }),
  mutant('blocks-are-read-again-without-a-pause', DEPOSIT_FAULTS_TEST, `${READ_MOVES}#noteMissing`, {
    'if (rereadAt !== null && now - rereadAt.getTime() < pauseAfter(misses)) return':
      'if (rereadAt !== null && now - rereadAt.getTime() < 0 * pauseAfter(misses)) return',
  }),
  mutant('a-thief-is-not-noticed', DEPOSIT_FAULTS_TEST, `${TAKE_MOVES}#judgeDeparture`, {
    '\n  await holdPayouts(ctx, trx, `chain:': '\n  void (`chain:',
  }),
  mutant('a-mismatch-stops-nothing', DEPOSIT_FAULTS_TEST, `${RECONCILE}#compareAndKeep`, {
    "    if (stopping.length > 0) await holdPayouts(ctx, trx, 'chain:reconciliation')\n": '',
  }),
  mutant('capital-leaves-unbooked', DEPOSIT_FAULTS_TEST, 'control-plane/services/deposits/withdraw-capital.ts#booked', {
    '{ account: PLATFORM_ACCOUNTS.externalUsdc, amount },': '{ account: PLATFORM_ACCOUNTS.fee, amount },',
  }),
  mutant('a-deposit-is-told-to-nobody', DEPOSITS_TEST, `${TAKE_MOVES}#creditMove`, {
    '  await tellOfCredit(ctx, trx, account, ': '  void tellOfCredit\n  void (',
  }),
  mutant('blocks-that-are-read-again-are-told-again', DEPOSITS_TEST, `${TELL_OF_DEPOSIT}#tellOfStrays`, {
    'if (isFirst) await': 'if (isFirst || MOST_A_DAY > 0) await',
  }),
  mutant('a-chain-begun-anew-is-the-same', REPLACED_CHAIN_TEST, `${KNOWN_CHAIN}#isKnownBlock`, {
    'return head.block >= anchorBlock && isAt': 'return head.block >= anchorBlock || isAt',
  }),
  mutant('old-transactions-are-sent-to-a-new-chain', REPLACED_CHAIN_TEST, `${MOVE_TRANSFERS}#moveTransfers`, {
    "if ((await attempt('know-chain', () => knowChain(treasury))) === 0)":
      "if ((await attempt('know-chain', () => knowChain(treasury))) === 2)",
  }),
  mutant('what-came-below-the-proof-is-never-read', DEPOSIT_FAULTS_TEST, `${KNOWN_CHAIN}#goBackIfReplaced`, {
    '  if (await isAt(ctx.chain, provenBlock, provenHash)) return knownCursor\n':
      '  if ((await isAt(ctx.chain, provenBlock, provenHash)) || provenBlock >= 0n) return known\n',
  }),
  mutant('what-a-dead-chain-had-is-sent-to-the-accepted-one', REPLACED_CHAIN_TEST, `${ACCEPT_CHAIN}#run`, {
    'const buried = await buryChainTransactions(trx)':
      'const buried = trx === undefined ? await buryChainTransactions(trx) : 0',
  }),
  mutant('a-chain-is-accepted-while-old-signatures-are-good', REPLACED_CHAIN_TEST, `${ACCEPT_CHAIN}#run`, {
    'if (until !== undefined) {': 'if (until !== undefined && until.getTime() < 0) {',
  }),
  mutant('the-same-bytes-on-an-accepted-chain-are-known', REPLACED_CHAIN_TEST, `${TREASURY_MOVES}#upsertMoves`, {
    ', * from unnest(': ' * 0, * from unnest(',
  }),
  mutant('a-deposit-that-is-credited-is-credited-anew', REPLACED_CHAIN_TEST, `${TAKE_MOVES}#judgeArrival`, {
    "deposit: deposit.state === 'credited' ? undefined : deposit.id }":
      "deposit: deposit.state === 'opened' && deposit.amount < 0n ? undefined : deposit.id }",
  }),
  mutant(
    'payments-are-settled-on-a-chain-begun-anew',
    REPLACED_CHAIN_PAYMENTS_TEST,
    `${KNOWN_CHAIN}#requireKnownChain`,
    {
      '  if (await isAt(chain, cursor.anchorBlock, cursor.anchorHash)) return\n':
        '  if ((await isAt(chain, cursor.anchorBlock, cursor.anchorHash)) || cursor.anchorBlock >= 0n) return\n',
    },
  ),
]
